package planreport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// maxStored is how many bytes of an existing file, or of the data in it, are read. Parsed objects need
// several times as much memory, and others may be able to write into the folder.
const maxStored = 64 << 20

// readReport reads the entries of a file. A file that cannot be read, or that is no report, has no
// entries: it is replaced.
func readReport(path string, parse func([]byte) (Report, error)) Report {
	content, err := readFile(path)
	if err != nil {
		return Report{}
	}
	report, _ := parse(content) // It is empty after an error.
	return report
}

// readFile reads a regular file. It opens no pipe, because that would wait for a writer.
func readFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	opened, err := os.Open(path) //nolint:gosec // The path is from the user's own environment.
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	return readLimited(opened)
}

// readLimited reads at most maxStored bytes. A small page can have much data, because it is compressed.
func readLimited(from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxStored+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxStored {
		return nil, errors.New("it is too large")
	}
	return content, nil
}

// parseJSON reads a report. Other programs may have written any part of it.
func parseJSON(content []byte) (Report, error) {
	var report Report
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&report); err != nil {
		return Report{}, fmt.Errorf("reading a report: %w", err)
	}
	if report.Format != Format {
		return Report{}, fmt.Errorf("reading a report: its format is %d, not %d", report.Format, Format)
	}
	seen := map[key]bool{}
	for i := range report.Targets {
		t := &report.Targets[i]
		t.edit(mask.PrintableLine, mask.Printable)
		if t.Name == "" || seen[t.key()] || !t.isOrdered() {
			return Report{}, errors.New("reading a report: its targets are not those of a report")
		}
		seen[t.key()] = true
		t.fill()
	}
	return report, nil
}

// isOrdered reports whether deployments are in the order in which they are written, each once.
func (t *Target) isOrdered() bool {
	for i := 1; i < len(t.Deployments); i++ {
		a, b := t.Deployments[i-1], t.Deployments[i]
		if cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle)) >= 0 {
			return false
		}
	}
	return true
}

// fill replaces nil lists by empty ones, because readers of the JSON rely on lists that are not
// null.
func (t *Target) fill() {
	t.Clusters = orEmpty(t.Clusters)
	t.Bundles = orEmpty(t.Bundles)
	t.Deployments = orEmpty(t.Deployments)
	t.Stages = orEmpty(t.Stages)
	t.Warnings = orEmpty(t.Warnings)
	t.Sources = orEmpty(t.Sources)
	for i := range t.Clusters {
		t.Clusters[i].Groups = orEmpty(t.Clusters[i].Groups)
	}
	for i := range t.Stages {
		t.Stages[i].Deployments = orEmpty(t.Stages[i].Deployments)
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// replaceFile writes a file that only its owner can read. A reader sees the former content or the
// new content, never a part.
func replaceFile(path string, content []byte) (err error) {
	if err := checkReplaceable(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // Its mode is 0600.
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// checkReplaceable returns an error if path is neither a regular file nor a link, because a report
// would replace it. A link is replaced, and its target stays.
func checkReplaceable(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && info.Mode().Type() != os.ModeSymlink {
		return fmt.Errorf("it exists and is no file (%s)", info.Mode().Type())
	}
	return nil
}

func renderJSON(report Report) ([]byte, error) {
	content, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing the JSON of a report: %w", err)
	}
	return append(content, '\n'), nil
}
