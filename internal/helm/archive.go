package helm

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

const (
	// maxEntries, maxFile and maxUnpacked bound what an archive may unpack to: the
	// number of its entries, and bytes of one file and of all.
	maxEntries  = 20_000
	maxFile     = 32 << 20
	maxUnpacked = 256 << 20
)

// ArchiveError says why an archive is not unpacked.
type ArchiveError struct {
	// Entry is the one that is wrong, "" if it is none of them.
	Entry string
	Err   error
}

func (e *ArchiveError) Error() string {
	if e.Entry == "" {
		return fmt.Sprintf("unpacking the archive: %v", e.Err)
	}
	return fmt.Sprintf("unpacking %q from the archive: %v", e.Entry, e.Err)
}

// Unwrap gives the cause.
func (e *ArchiveError) Unwrap() error { return e.Err }

// extract unpacks an archive in memory and answers the files of one chart in it:
// those in the folder subdirectory, or all, without the single folder they may be
// in. Hidden files are left out, as they are of any bundle. Nothing in an archive
// leads out of it: links are refused, and so are absolute paths and "..". format
// "" is tar.gz, which Helm packs. The error is an *ArchiveError.
func extract(archive []byte, format, subdirectory string) ([]bundle.File, error) {
	u := &unpacking{seen: map[string]bool{}}
	if err := u.unpack(archive, format); err != nil {
		if failed, ok := errors.AsType[*ArchiveError](err); ok {
			return nil, failed
		}
		return nil, &ArchiveError{Err: err}
	}
	files := u.files
	if subdirectory != "" {
		files = below(files, subdirectory)
	} else if folder := onlyFolder(files); folder != "" {
		files = below(files, folder)
	}
	if !slices.ContainsFunc(files, func(file bundle.File) bool { return file.Name == "Chart.yaml" }) {
		return nil, &ArchiveError{Err: errors.New("it holds no Chart.yaml where the chart should be")}
	}
	files = slices.DeleteFunc(files, func(file bundle.File) bool { return isHidden(file.Name) })
	slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// unpacking adds up what comes out of an archive.
type unpacking struct {
	files   []bundle.File
	seen    map[string]bool
	entries int
	total   int64
}

func (u *unpacking) unpack(archive []byte, format string) error {
	compressed := bytes.NewReader(archive)
	switch format {
	case "zip":
		return u.zip(archive)
	case "tar":
		return u.tar(compressed)
	case "tar.bz2":
		return u.tar(bzip2.NewReader(compressed))
	case "tar.xz":
		reader, err := xz.ReaderConfig{DictCap: maxDictionary}.NewReader(compressed)
		if err != nil {
			return err
		}
		return u.tar(reader)
	case "tar.zst":
		reader, err := zstd.NewReader(compressed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderMaxWindow(maxDictionary))
		if err != nil {
			return err
		}
		defer reader.Close()
		return u.tar(reader)
	}
	reader, err := gzip.NewReader(compressed)
	if err != nil {
		return err
	}
	return u.tar(reader)
}

// maxDictionary bounds the memory that a compression format may ask for.
const maxDictionary = 64 << 20

func (u *unpacking) tar(compressed io.Reader) error {
	// Headers count as well: an archive may hold nothing else.
	bounded := &io.LimitedReader{R: compressed, N: maxUnpacked + maxEntries*1024}
	reader := tar.NewReader(bounded)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bounded.N <= 0 {
			return errTooLarge
		}
		if err != nil {
			return err
		}
		if u.entries++; u.entries > maxEntries {
			return errTooMany
		}
		switch header.Typeflag {
		case tar.TypeReg:
			err = u.add(header.Name, reader)
		case tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
		default:
			err = &ArchiveError{Entry: header.Name, Err: errors.New("it is a link or a device; only files and folders are unpacked")}
		}
		if err != nil {
			return err
		}
	}
}

var (
	errTooMany  = fmt.Errorf("it holds more than %d entries", maxEntries)
	errTooLarge = fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)
)

func (u *unpacking) zip(archive []byte) error {
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	if len(reader.File) > maxEntries {
		return errTooMany
	}
	for _, entry := range reader.File {
		if err := u.zipEntry(entry); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) zipEntry(entry *zip.File) error {
	mode := entry.Mode()
	switch {
	case mode.IsDir():
		return nil
	case !mode.IsRegular():
		return &ArchiveError{Entry: entry.Name, Err: errors.New("it is a link or a device; only files and folders are unpacked")}
	}
	content, err := entry.Open()
	if err != nil {
		return &ArchiveError{Entry: entry.Name, Err: err}
	}
	defer func() { _ = content.Close() }()
	return u.add(entry.Name, content)
}

// add reads one file.
func (u *unpacking) add(name string, content io.Reader) error {
	cleaned := path.Clean(strings.ReplaceAll(name, "\\", "/"))
	switch {
	case path.IsAbs(cleaned), cleaned == "..", strings.HasPrefix(cleaned, "../"):
		return &ArchiveError{Entry: name, Err: errors.New("its path leads out of the archive")}
	case u.seen[cleaned]:
		return &ArchiveError{Entry: name, Err: errors.New("it is there twice")}
	}
	u.seen[cleaned] = true
	data, err := io.ReadAll(io.LimitReader(content, maxFile+1))
	if err != nil {
		return &ArchiveError{Entry: name, Err: err}
	}
	if len(data) > maxFile {
		return &ArchiveError{Entry: name, Err: fmt.Errorf("it is larger than %d MiB", maxFile>>20)}
	}
	if u.total += int64(len(data)); u.total > maxUnpacked {
		return errTooLarge
	}
	u.files = append(u.files, bundle.File{Name: cleaned, Content: data})
	return nil
}

// onlyFolder is the folder that all files are in, if it is the chart.
func onlyFolder(files []bundle.File) string {
	folder := ""
	for _, file := range files {
		first, _, found := strings.Cut(file.Name, "/")
		if !found || (folder != "" && first != folder) {
			return ""
		}
		folder = first
	}
	return folder
}

func below(files []bundle.File, folder string) []bundle.File {
	var found []bundle.File
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Name, path.Clean(folder)+"/"); ok {
			found = append(found, bundle.File{Name: name, Content: file.Content})
		}
	}
	return found
}

func isHidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}
