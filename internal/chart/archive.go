package chart

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// limits are the limits for the unpacked content of an archive.
type limits struct {
	// entries are files, folders and links.
	entries int
	// file is how many bytes one file may have. total is for all files, with the headers of the
	// archive.
	file, total int64
	// ratio is how many bytes one packed byte may unpack to, once there are more than ratioFrom
	// bytes. Text repeats itself, but not without end.
	ratio, ratioFrom int64
}

// defaultLimits allow any chart that fits into a Helm release.
func defaultLimits() limits {
	return limits{entries: 100_000, file: 32 << 20, total: 256 << 20, ratio: 200, ratioFrom: 16 << 20}
}

// maxDictionary is how many bytes of memory the unpacking of an archive may need. xz -9 needs
// this much.
const maxDictionary = 64 << 20

// ArchiveError describes why an archive is not unpacked.
type ArchiveError struct {
	// Entry is the faulty entry, "" if the fault is not in one entry.
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

// extract unpacks an archive in memory and returns the files of the chart in it, sorted by name.
// These are the files in the folder subdirectory, or all files. A single folder that contains all
// of them is cut from their names. Hidden files are left out, as in any bundle. A path or a link
// out of the archive is an error. A link to a file in the folder of the chart becomes that file.
// format "" is tar.gz, which Helm packs. The error is an *ArchiveError.
func extract(archive io.ReaderAt, size int64, format, subdirectory string) ([]bundle.File, error) {
	return extractWithin(defaultLimits(), archive, size, format, subdirectory)
}

func extractWithin(most limits, archive io.ReaderAt, size int64, format, subdirectory string) ([]bundle.File, error) {
	u := &unpacking{limits: most, packed: size, contents: map[string][]byte{}, links: map[string]string{}}
	if subdirectory = path.Clean("/" + subdirectory)[1:]; subdirectory != "" {
		u.prefix = subdirectory + "/"
	}
	err := u.unpack(io.NewSectionReader(archive, 0, size), format)
	if err == nil {
		err = u.followLinks()
	}
	if failed, ok := errors.AsType[*ArchiveError](err); ok {
		return nil, failed
	}
	if err != nil {
		return nil, &ArchiveError{Err: err}
	}
	return u.chart()
}

// unpacking collects and counts the content of an archive.
type unpacking struct {
	limits

	prefix   string            // Other entries are skipped.
	packed   int64             // Bytes.
	contents map[string][]byte // By name below prefix.
	links    map[string]string // Targets by the name of the link, both below prefix.

	entries int
	total   int64
}

var (
	errRatio     = errors.New("its content is far larger than the archive; it may be an archive bomb")
	errOutside   = errors.New("its path is outside of the archive")
	errTwice     = errors.New("the archive contains it twice")
	errName      = errors.New("its name is not a valid file name")
	errDevice    = errors.New("it is a device; only files, folders and links are unpacked")
	errNoFile    = errors.New("it is a link that does not point to a file in the folder of the chart")
	errNoChart   = errors.New("it contains no Chart.yaml in the folder of the chart")
	errDirectory = errors.New("its list of entries is too large")
)

func (u *unpacking) unpack(archive *io.SectionReader, format string) error {
	switch format {
	case "zip":
		return u.zip(archive)
	case "tar":
		return u.tar(archive)
	case "tar.bz2":
		return u.tar(bzip2.NewReader(archive))
	case "tar.xz":
		reader, err := xz.NewReader(archive, maxDictionary)
		if err != nil {
			return err
		}
		return u.tar(reader)
	case "tar.zst":
		reader, err := zstd.NewReader(archive, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxDictionary))
		if err != nil {
			return err
		}
		defer reader.Close()
		return u.tar(reader)
	}
	reader, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	return u.tar(reader)
}

// counted counts the unpacked bytes of an archive, before they are used.
type counted struct {
	io.Reader
	u *unpacking
}

func (c counted) Read(buffer []byte) (int, error) {
	n, err := c.Reader.Read(buffer)
	c.u.total += int64(n)
	if full := c.u.checkTotal(); full != nil {
		return n, full
	}
	return n, err
}

func (u *unpacking) checkTotal() error {
	if u.total > u.limits.total {
		return &ArchiveError{Err: fmt.Errorf("it unpacks to more than %d MiB", u.limits.total>>20)}
	}
	if u.total > u.ratioFrom && u.total/max(u.packed, 1) > u.ratio {
		return &ArchiveError{Err: errRatio}
	}
	return nil
}

func (u *unpacking) checkEntries(n int) error {
	if n > u.limits.entries {
		return &ArchiveError{Err: fmt.Errorf("it contains more than %d entries", u.limits.entries)}
	}
	return nil
}

func (u *unpacking) tar(stream io.Reader) error {
	stream = counted{stream, u}
	reader := tar.NewReader(stream)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			// The rest of the stream contains the checksum of the compression.
			_, err = io.Copy(io.Discard, stream)
			return err
		}
		if err != nil {
			return err
		}
		u.entries++
		if err := u.checkEntries(u.entries); err != nil {
			return err
		}
		if err := u.tarEntry(header, reader); err != nil {
			return entryError(header.Name, err)
		}
	}
}

func entryError(name string, err error) error {
	if _, ok := errors.AsType[*ArchiveError](err); ok {
		return err
	}
	return &ArchiveError{Entry: name, Err: err}
}

func (u *unpacking) tarEntry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // Git writes one, with the commit.
	}
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeReg:
		return u.addFile(name, content)
	case tar.TypeSymlink:
		return u.addLink(name, path.Dir(name), header.Linkname)
	case tar.TypeLink:
		return u.addLink(name, ".", header.Linkname)
	}
	return errDevice
}

func (u *unpacking) zip(archive *io.SectionReader) error {
	const bytesPerEntry = 512 // Most entries are shorter.
	list := &bounded{ReaderAt: archive, left: int64(u.limits.entries) * bytesPerEntry}
	reader, err := zip.NewReader(list, archive.Size())
	if err != nil {
		return err
	}
	if err := u.checkEntries(len(reader.File)); err != nil {
		return err
	}
	list.left = -1
	for _, entry := range reader.File {
		if err := u.zipEntry(entry); err != nil {
			return entryError(entry.Name, err)
		}
	}
	return nil
}

// bounded returns at most left bytes, or all bytes if left is -1. It is needed because a list of
// entries is read as a whole before it can be counted.
type bounded struct {
	io.ReaderAt
	left int64
}

func (b *bounded) ReadAt(buffer []byte, offset int64) (int, error) {
	if b.left >= 0 {
		if b.left -= int64(len(buffer)); b.left < 0 {
			b.left = 0
			return 0, errDirectory
		}
	}
	return b.ReaderAt.ReadAt(buffer, offset)
}

func (u *unpacking) zipEntry(entry *zip.File) error {
	name, err := entryName(entry.Name)
	if err != nil {
		return err
	}
	mode := entry.Mode()
	if mode.IsDir() {
		return nil
	}
	if !mode.IsRegular() && mode.Type() != fs.ModeSymlink {
		return errDevice
	}
	stored, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }()
	content := counted{stored, u}
	if mode.IsRegular() {
		return u.addFile(name, content)
	}
	target, err := io.ReadAll(io.LimitReader(content, maxName))
	if err != nil {
		return err
	}
	return u.addLink(name, path.Dir(name), string(target))
}

const maxName = 4096

// entryName returns the path of an entry, slash separated. A path out of the archive is an error.
// Archives made on Windows contain backslashes.
func entryName(name string) (string, error) {
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return "", errName
	}
	name = strings.ReplaceAll(name, `\`, "/")
	if path.IsAbs(name) || hasDrive(name) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", errOutside
	}
	return path.Clean(name), nil
}

func hasDrive(name string) bool {
	return len(name) > 1 && name[1] == ':' && ('a' <= name[0]|' ' && name[0]|' ' <= 'z')
}

// inChart returns a name relative to the folder of the chart, and whether the name is wanted.
func (u *unpacking) inChart(name string) (string, bool) {
	relative, ok := strings.CutPrefix(name, u.prefix)
	return relative, ok && relative != "." && !isHidden(relative)
}

func isHidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

func (u *unpacking) isThere(name string) bool {
	_, isFile := u.contents[name]
	_, isLink := u.links[name]
	return isFile || isLink
}

// addFile reads one file.
func (u *unpacking) addFile(name string, content io.Reader) error {
	name, wanted := u.inChart(name)
	if !wanted {
		_, err := io.Copy(io.Discard, content)
		return err
	}
	if u.isThere(name) {
		return errTwice
	}
	data, err := io.ReadAll(io.LimitReader(content, u.file+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > u.file {
		return fmt.Errorf("it is larger than %d MiB", u.file>>20)
	}
	u.contents[name] = data
	return nil
}

// addLink records a link, whose target may be a later entry.
func (u *unpacking) addLink(name, from, target string) error {
	name, wanted := u.inChart(name)
	if !wanted {
		return nil
	}
	if u.isThere(name) {
		return errTwice
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if path.IsAbs(target) || hasDrive(target) || len(target) > maxName {
		return errOutside
	}
	target = path.Join(from, target)
	if target == ".." || strings.HasPrefix(target, "../") {
		return errOutside
	}
	target, wanted = u.inChart(target)
	if !wanted {
		return errNoFile
	}
	u.links[name] = target
	return nil
}

// followLinks replaces the links with the content of their targets.
func (u *unpacking) followLinks() error {
	const longest = 8 // Links may lead to links.
	followed := make(map[string][]byte, len(u.links))
	for name, target := range u.links {
		for range longest {
			next, isLink := u.links[target]
			if !isLink {
				break
			}
			target = next
		}
		content, ok := u.contents[target]
		if _, isLink := u.links[target]; isLink || !ok {
			return &ArchiveError{Entry: name, Err: errNoFile}
		}
		u.total += int64(len(content))
		u.packed += int64(len(content)) // The content is shared, and takes no more memory.
		if err := u.checkTotal(); err != nil {
			return err
		}
		followed[name] = content
	}
	maps.Copy(u.contents, followed)
	return nil
}

// chart returns the files. A single folder that contains all of them is cut from their names.
func (u *unpacking) chart() ([]bundle.File, error) {
	files := make([]bundle.File, 0, len(u.contents))
	for name, content := range u.contents {
		files = append(files, bundle.File{Name: name, Content: content})
	}
	slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range files {
		for dir := path.Dir(file.Name); dir != "."; dir = path.Dir(dir) {
			if u.isThere(dir) {
				return nil, &ArchiveError{Entry: dir, Err: errTwice} // As a file and as a folder.
			}
		}
	}
	if !u.isThere(chartutil.ChartfileName) {
		files = below(files, onlyFolder(files))
	}
	if _, isChart := contentOf(files, chartutil.ChartfileName); !isChart {
		return nil, &ArchiveError{Err: errNoChart}
	}
	return files, nil
}

// onlyFolder returns the folder that contains all files, "" if there is none.
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

// below returns the files of a folder, relative to the folder.
func below(files []bundle.File, folder string) []bundle.File {
	var found []bundle.File
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Name, folder+"/"); ok {
			found = append(found, bundle.File{Name: name, Content: file.Content})
		}
	}
	return found
}
