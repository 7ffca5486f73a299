package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// maxNesting is how deep packed charts may be nested. Helm unpacks nested charts without a limit,
// although an archive can contain itself.
const maxNesting = 8

var errNesting = fmt.Errorf("packed charts are nested more than %d levels deep", maxNesting)

// Unpack returns the files of a packed chart. Helm limits the size of the unpacked files, but not
// their number. The error is an *ArchiveError or one of Helm's.
func Unpack(packed []byte) ([]*loader.BufferedFile, error) {
	if err := (&unpacking{limits: defaultLimits(), packed: int64(len(packed))}).count(packed, 0); err != nil {
		return nil, err
	}
	return loader.LoadArchiveFiles(bytes.NewReader(packed))
}

// CheckPacked checks the total unpacked size of the packed charts among files, and of the charts
// nested in them. Helm limits each chart by itself (pkg/chart/loader/archive.go), but not the
// number of charts. The error is an *ArchiveError.
func CheckPacked(files []*loader.BufferedFile) error {
	u := &unpacking{limits: defaultLimits()}
	for _, file := range files {
		if isPackedChart(file.Name) {
			u.packed += int64(len(file.Data))
		}
	}
	for _, file := range files {
		if !isPackedChart(file.Name) {
			continue
		}
		if err := u.count(file.Data, 1); err != nil {
			return entryError(file.Name, err)
		}
	}
	return nil
}

// isPackedChart reports whether Helm unpacks a file.
func isPackedChart(name string) bool {
	return path.Ext(name) == ".tgz" && path.Base(path.Dir(name)) == "charts"
}

// count counts the content of a packed chart, nested charts included.
func (u *unpacking) count(packed []byte, depth int) error {
	if depth > maxNesting {
		return &ArchiveError{Err: errNesting}
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil //nolint:nilerr // Helm reports the error, or does not read the file.
	}
	reader := tar.NewReader(counted{unzipped, u})
	for {
		header, err := reader.Next()
		if err != nil {
			return exceeded(err)
		}
		u.entries++
		if err := u.checkEntries(u.entries); err != nil {
			return err
		}
		if !isPackedChart(path.Clean(strings.ReplaceAll(header.Name, `\`, "/"))) {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(reader, u.file))
		if err != nil {
			return exceeded(err)
		}
		if err := u.count(content, depth+1); err != nil {
			return err
		}
	}
}

// exceeded returns only the error of an exceeded limit. Helm reports other errors.
func exceeded(err error) error {
	if failed, ok := errors.AsType[*ArchiveError](err); ok {
		return failed
	}
	return nil
}
