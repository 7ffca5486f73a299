//go:build !race

package templates_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// packedChart packs a chart that contains files, by name.
func packedChart(t *testing.T, files map[string][]byte, empty int) []byte {
	t.Helper()
	var into bytes.Buffer
	zipped := gzip.NewWriter(&into)
	writer := tar.NewWriter(zipped)
	add := func(name string, content []byte) {
		if err := writer.WriteHeader(&tar.Header{Name: "web/" + name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	add("Chart.yaml", []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"))
	for name, content := range files {
		add(name, content)
	}
	for i := range empty {
		add(fmt.Sprintf("templates/%d", i), nil)
	}
	if err := errors.Join(writer.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return into.Bytes()
}

// nested packs a chart into itself, so many times into each level.
func nested(t *testing.T, levels, times int) []byte {
	t.Helper()
	packed := packedChart(t, map[string][]byte{"values.yaml": bytes.Repeat([]byte("#"), 1<<20)}, 0)
	for range levels {
		files := map[string][]byte{}
		for i := range times {
			files[fmt.Sprintf("charts/c%d.tgz", i)] = packed
		}
		packed = packedChart(t, files, 0)
	}
	return packed
}

// A packed chart in a packed chart unpacks to any size.
func TestPackedChartsAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		packed  []byte
		refused bool
	}{
		"one in another":    {packed: nested(t, 1, 2)},
		"many in each":      {packed: nested(t, 4, 16), refused: true},
		"deep":              {packed: nested(t, 40, 1), refused: true},
		"many empty files":  {packed: packedChart(t, nil, 100_001), refused: true},
		"no archive at all": {packed: []byte("text")},
	}
	for name, test := range tests {
		for place, files := range map[string][]bundle.File{
			"as the chart": {{Name: "web.tgz", Content: test.packed}},
			"in the chart": {
				{Name: "Chart.yaml", Content: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
				{Name: "charts/web.tgz", Content: test.packed},
			},
		} {
			t.Run(name+", "+place, func(t *testing.T) {
				t.Parallel()
				d := target.Deployment{Release: "web", Namespace: "ns", Bundle: &bundle.Bundle{Name: "web", Content: "v1-" + name, Files: files}}
				if place == "as the chart" {
					d.Options.Helm = &fleetyaml.Helm{Chart: "web.tgz"}
				}
				_, _, err := newCharts().Describe(d)
				if _, refused := errors.AsType[*chart.ArchiveError](err); refused != test.refused {
					t.Errorf("error = %.300v", err)
				}
			})
		}
	}
}
