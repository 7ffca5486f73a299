package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
)

// Chart is a chart to be served.
type Chart struct {
	Name, Version string
	// Files by name, relative to the chart's folder. If there is no Chart.yaml, one is made.
	Files map[string]string
}

// Tar packs the chart as Helm does, without compressing it. The result is the same for the same
// chart.
func (c Chart) Tar() []byte {
	files := maps.Clone(c.Files)
	if files == nil {
		files = map[string]string{}
	}
	if _, ok := files["Chart.yaml"]; !ok {
		files["Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", c.Name, c.Version)
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: c.Name + "/" + name, Mode: 0o644, Size: int64(len(files[name]))}
		must(archive.WriteHeader(header))
		_, err := archive.Write([]byte(files[name]))
		must(err)
	}
	must(archive.Close())
	return packed.Bytes()
}

// Package packs the chart as Helm does.
func (c Chart) Package() []byte {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	_, err := compressed.Write(c.Tar())
	must(err)
	must(compressed.Close())
	return packed.Bytes()
}

// must is for what cannot fail: writing into memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
