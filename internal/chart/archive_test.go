package chart

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
)

// entry is an entry of an archive.
type entry struct {
	name, content string
	kind          byte // 0 is a file.
	link          string
}

var chartEntry = entry{name: "web/Chart.yaml", content: "name: web\n"} //nolint:gochecknoglobals // A constant.

func tarOf(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Linkname: e.link, Mode: 0o644}
		if e.kind != 0 {
			header.Typeflag = e.kind
		}
		if e.kind == tar.TypeXGlobalHeader {
			header = &tar.Header{Typeflag: e.kind, PAXRecords: map[string]string{"comment": "0123"}}
		}
		if err := writer.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(writer, e.content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

func gzipOf(tb testing.TB, content []byte) []byte {
	tb.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(content)
	if err := errors.Join(err, writer.Close()); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

func zipOf(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		content := e.content
		switch e.kind {
		case tar.TypeSymlink:
			header.SetMode(0o777 | 1<<27) // fs.ModeSymlink.
			content = e.link
		case tar.TypeFifo:
			header.SetMode(0o644 | 1<<25) // fs.ModeNamedPipe.
		}
		part, err := writer.CreateHeader(header)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

func extractBytes(most limits, archive []byte, format, subdirectory string) ([]bundle.File, error) {
	return extractWithin(most, bytes.NewReader(archive), int64(len(archive)), format, subdirectory)
}

func TestExtract(t *testing.T) {
	t.Parallel()
	plain := map[string]string{"Chart.yaml": "name: web\n"}
	tests := []struct {
		name         string
		entries      []entry
		subdirectory string
		want         map[string]string
	}{
		{"in a folder", []entry{chartEntry}, "", plain},
		{"without a folder", []entry{{name: "Chart.yaml", content: "name: web\n"}}, "", plain},
		{"with a dot", []entry{{name: "./web/Chart.yaml", content: "name: web\n"}, {name: "./", kind: tar.TypeDir}}, "", plain},
		{"from Windows", []entry{{name: `web\Chart.yaml`, content: "name: web\n"}}, "", plain},
		{"by git archive", []entry{{kind: tar.TypeXGlobalHeader}, chartEntry}, "", plain},
		{"hidden files", []entry{chartEntry, {name: "web/.helmignore"}, {name: "web/.git/config"}}, "", plain},
		{"subdirectory", []entry{{name: "all/charts/web/Chart.yaml", content: "name: web\n"}, {name: "all/README.md"}}, "all/charts/web", plain},
		{"links elsewhere", []entry{{name: "all/a", kind: tar.TypeSymlink, link: "/etc/passwd"}, {name: "all/web/Chart.yaml", content: "name: web\n"}}, "all/web", plain},
		{"link to a file", []entry{{name: "web/b", kind: tar.TypeSymlink, link: "./Chart.yaml"}, chartEntry}, "", map[string]string{"Chart.yaml": "name: web\n", "b": "name: web\n"}},
		{"link over a link", []entry{chartEntry, {name: "web/x/b", kind: tar.TypeSymlink, link: "../c"}, {name: "web/c", kind: tar.TypeSymlink, link: "Chart.yaml"}}, "", map[string]string{"Chart.yaml": "name: web\n", "x/b": "name: web\n", "c": "name: web\n"}},
		{"hard link", []entry{chartEntry, {name: "web/b", kind: tar.TypeLink, link: "web/Chart.yaml"}}, "", map[string]string{"Chart.yaml": "name: web\n", "b": "name: web\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := extractBytes(defaultLimits(), gzipOf(t, tarOf(t, tt.entries...)), "tar.gz", tt.subdirectory)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, file := range files {
				got[file.Name] = string(file.Content)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	t.Parallel()
	with := func(e ...entry) []entry { return append([]entry{chartEntry}, e...) }
	tests := []struct {
		name    string
		entries []entry
		tarOnly bool
		want    error
	}{
		{"parent", with(entry{name: "../evil"}), false, errOutside},
		{"parent on the way", with(entry{name: "web/a/../../../evil"}), false, errOutside},
		{"parent from Windows", with(entry{name: `web\..\..\evil`}), false, errOutside},
		{"absolute", with(entry{name: "/etc/passwd"}), false, errOutside},
		{"drive", with(entry{name: "C:/evil"}), false, errOutside},
		{"twice", with(chartEntry), false, errTwice},
		{"twice by another way to write it", with(entry{name: "web/./Chart.yaml"}), false, errTwice},
		{"a file and a folder", with(entry{name: "web/a"}, entry{name: "web/a/b"}), false, errTwice},
		{"absolute link", with(entry{name: "web/a", kind: tar.TypeSymlink, link: "/etc/passwd"}), false, errOutside},
		{"link above", with(entry{name: "web/a", kind: tar.TypeSymlink, link: "../../etc/passwd"}), false, errOutside},
		{"link to nothing", with(entry{name: "web/a", kind: tar.TypeSymlink, link: "b"}), false, errNoFile},
		{"link to a folder", with(entry{name: "web/a", kind: tar.TypeSymlink, link: "."}), false, errNoFile},
		{"link to itself", with(entry{name: "web/a", kind: tar.TypeSymlink, link: "a"}), false, errNoFile},
		{"hard link above", with(entry{name: "web/a", kind: tar.TypeLink, link: "../etc/passwd"}), true, errOutside},
		{"device", with(entry{name: "web/a", kind: tar.TypeFifo}), false, errDevice},
		{"no chart", []entry{{name: "web/values.yaml"}}, false, errNoChart},
		{"two folders", with(entry{name: "api/Chart.yaml"}), false, errNoChart},
		{"nothing", nil, false, errNoChart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			archives := map[string][]byte{"tar": tarOf(t, tt.entries...)}
			if !tt.tarOnly {
				archives["zip"] = zipOf(t, tt.entries...)
			}
			for format, archive := range archives {
				_, err := extractBytes(defaultLimits(), archive, format, "")
				if _, ok := errors.AsType[*ArchiveError](err); !ok || !errors.Is(err, tt.want) {
					t.Errorf("%s: %v, want %v", format, err, tt.want)
				}
			}
		})
	}
}

// A link must not lead to a file outside the folder of the chart, nor to a file of the same name
// inside it.
func TestExtractRefusesLinksOutOfTheChart(t *testing.T) {
	t.Parallel()
	archive := tarOf(t, entry{name: "Chart.yaml"}, entry{name: "sub/Chart.yaml"}, entry{name: "sub/a", kind: tar.TypeSymlink, link: "../Chart.yaml"})
	if _, err := extractBytes(defaultLimits(), archive, "tar", "sub"); !errors.Is(err, errNoFile) {
		t.Errorf("%v, want %v", err, errNoFile)
	}
}

// Each link to a large file counts with the size of the file.
func TestExtractLimitsLinks(t *testing.T) {
	t.Parallel()
	entries := []entry{chartEntry, {name: "web/big", content: strings.Repeat("x", 1<<20)}}
	for i := range 100 {
		entries = append(entries, entry{name: "web/l" + strings.Repeat("x", i), kind: tar.TypeSymlink, link: "big"})
	}
	most := defaultLimits()
	most.total = 32 << 20
	if _, err := extractBytes(most, gzipOf(t, tarOf(t, entries...)), "tar.gz", ""); err == nil {
		t.Error("100 links to 1 MiB are within 32 MiB")
	}
}

func TestExtractChecksWhatFollows(t *testing.T) {
	t.Parallel()
	packed := gzipOf(t, tarOf(t, chartEntry))
	for _, cut := range []int{1, 8, len(packed) / 2} {
		_, err := extractBytes(defaultLimits(), packed[:len(packed)-cut], "tar.gz", "")
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("without the last %d bytes: %v", cut, err)
		}
	}
	packed[len(packed)-8] ^= 1
	if _, err := extractBytes(defaultLimits(), packed, "tar.gz", ""); !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("with another checksum: %v", err)
	}
}

// The memory that a compression format requests is limited.
func TestExtractLimitsDictionaries(t *testing.T) {
	t.Parallel()
	writer, err := zstd.NewWriter(nil, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	// The stream is too long for its size to be in the header.
	var packed bytes.Buffer
	writer.Reset(&packed)
	_, err = io.Copy(writer, io.LimitReader(repeating{}, 1<<20))
	if err := errors.Join(err, writer.Flush(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := extractBytes(defaultLimits(), packed.Bytes(), "tar.zst", ""); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
		t.Errorf("zstd with a window of 512 MiB: %v", err)
	}
	// An xz stream whose one block requests a dictionary of 4 GiB.
	stream := []byte{
		0xfd, '7', 'z', 'X', 'Z', 0, 0, 1, 0x69, 0x22, 0xde, 0x36, // Checks with CRC32.
		2, 0, 0x21, 1, 40, 0, 0, 0, // Block header: LZMA2, dictionary 40, which is 4 GiB.
	}
	stream = binary.LittleEndian.AppendUint32(stream, crc32.ChecksumIEEE(stream[12:]))
	if _, err := extractBytes(defaultLimits(), append(stream, make([]byte, 64)...), "tar.xz", ""); err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("xz with a dictionary of 4 GiB: %v", err)
	}
}

type repeating struct{}

func (repeating) Read(buffer []byte) (int, error) {
	for i := range buffer {
		buffer[i] = byte(i)
	}
	return len(buffer), nil
}

func FuzzExtract(f *testing.F) {
	chart := charttest.Chart{Name: "web", Version: "1.0.0", Files: map[string]string{"values.yaml": "a: 1\n", "charts/x/Chart.yaml": "name: x\n"}}
	f.Add(chart.Package(), "tar.gz", "")
	f.Add(chart.Tar(), "tar", "web")
	f.Add(zipOf(f, chartEntry, entry{name: "web/a", kind: tar.TypeSymlink, link: "Chart.yaml"}), "zip", "")
	f.Add(tarOf(f, chartEntry, entry{name: "web/a", kind: tar.TypeLink, link: "web/Chart.yaml"}), "tar", "")
	f.Add(tarOf(f, entry{name: `..\evil`}, entry{name: "a/../../b"}), "tar", "..")
	f.Add([]byte("BZh9"), "tar.bz2", "")
	f.Add([]byte("\xfd7zXZ\x00"), "tar.xz", "/")
	f.Add([]byte("\x28\xb5\x2f\xfd"), "tar.zst", ".")
	most := limits{entries: 100, file: 1 << 16, total: 1 << 20, ratio: 200, ratioFrom: 1 << 16}
	f.Fuzz(func(t *testing.T, archive []byte, format, subdirectory string) {
		files, err := extractBytes(most, archive, format, subdirectory)
		if err != nil {
			if _, ok := errors.AsType[*ArchiveError](err); !ok {
				t.Errorf("the error is %T: %v", err, err)
			}
			return
		}
		total, seen := 0, map[string]bool{}
		for _, file := range files {
			if name, err := entryName(file.Name); err != nil || name != file.Name || isHidden(name) || seen[name] {
				t.Errorf("there is a file %q: %v", file.Name, err)
			}
			seen[file.Name] = true
			total += len(file.Content)
		}
		if total > int(most.total) || len(files) > most.entries || !seen["Chart.yaml"] {
			t.Errorf("%d files of %d bytes", len(files), total)
		}
	})
}
