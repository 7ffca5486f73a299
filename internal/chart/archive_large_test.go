//go:build !race

package chart

import (
	"archive/tar"
	"errors"
	"strings"
	"testing"
)

// For each limit, an archive exceeds only this one.
func TestExtractLimits(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	zeros := strings.Repeat("\x00", 4*mega)
	generous := limits{entries: 1000, file: 64 * mega, total: 64 * mega, ratio: 1 << 30}
	large := []entry{chartEntry, {name: "web/a", content: zeros}, {name: "web/b", content: zeros}}
	var many []entry
	for i := range 100 {
		many = append(many, entry{name: "web/" + strings.Repeat("x", i+1)})
	}
	folders := make([]entry, 100)
	for i := range folders {
		folders[i] = entry{name: "web/", kind: tar.TypeDir}
	}
	tests := []struct {
		name    string
		change  func(*limits)
		entries []entry
		want    string
	}{
		{"entries", func(l *limits) { l.entries = 50 }, many, "more than 50 entries"},
		{"folders", func(l *limits) { l.entries = 50 }, folders, "more than 50 entries"},
		{"one file", func(l *limits) { l.file = mega }, large, "larger than 1 MiB"},
		{"all files", func(l *limits) { l.total = 6 * mega }, large, "more than 6 MiB"},
		{"all files, outside of the chart", func(l *limits) { l.total = 6 * mega }, []entry{{name: "a", content: zeros}, {name: "b", content: zeros}}, "more than 6 MiB"},
		{"ratio", func(l *limits) { l.ratio = 100; l.ratioFrom = mega }, large, "archive bomb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			most := generous
			tt.change(&most)
			archives := map[string][]byte{"tar.gz": gzipOf(t, tarOf(t, tt.entries...)), "zip": zipOf(t, tt.entries...)}
			for format, archive := range archives {
				if _, err := extractBytes(generous, archive, format, ""); errors.Is(err, errRatio) {
					t.Fatalf("%s: %v", format, err)
				}
				_, err := extractBytes(most, archive, format, "")
				if _, ok := errors.AsType[*ArchiveError](err); !ok || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q in it", format, err, tt.want)
				}
			}
		})
	}
}
