package planreport

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Writer writes the entries of one provider process to files. It is safe for concurrent use, and a
// nil Writer writes nothing.
type Writer struct {
	files []file
	run   string

	mu  sync.Mutex
	own map[key]Target
	// plans is true if an entry was added after a refresh, so that this process is no apply.
	plans  bool
	failed bool
	// late is true if another process held a lock for too long. Reports are then written without
	// a lock, so that the process delays a plan only once.
	late bool
}

// file is one file of a report.
type file struct {
	path string
	// data is the file that the entries of other processes are read from.
	data   string
	render func(Report) ([]byte, error)
	parse  func([]byte) (Report, error)
}

// Open returns a Writer for the files that the environment variable FLEET_REPORT names, separated
// as in PATH, nil for none. It opens no file. "%o" in a name is replaced by the owner.
func Open(names, owner string) (*Writer, error) {
	w := &Writer{run: runID(), own: map[key]Target{}}
	for _, name := range filepath.SplitList(names) {
		if name == "" {
			continue
		}
		of, err := fileOf(strings.ReplaceAll(name, "%o", ownerInName(owner)))
		if err != nil {
			return nil, err
		}
		w.files = append(w.files, of)
	}
	if len(w.files) == 0 {
		return nil, nil // A nil Writer is a Writer.
	}
	return w, nil
}

// ownerInName returns the owner as a part of a file name. The owner is a label value, or not known
// yet.
func ownerInName(owner string) string {
	if owner == "" {
		return "unknown"
	}
	return strings.NewReplacer("/", "_", `\`, "_").Replace(owner)
}

func fileOf(path string) (file, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		return file{path: path, data: path, render: renderJSON, parse: parseJSON}, nil
	case ".html", ".htm":
		return file{path: path, data: path, render: renderHTML, parse: parseHTML}, nil
	case ".md":
		return file{path: path, data: path + ".json", render: renderMarkdown, parse: parseJSON}, nil
	}
	return file{}, fmt.Errorf("the name of a report ends in .html, .md or .json, not as %q", filepath.Base(path))
}

// IsWanted reports whether a report is written.
func (w *Writer) IsWanted() bool { return w != nil }

// Add adds an entry to the files. refreshed is true if this process has refreshed the target. An
// update without a refresh is left out: it is the repeated plan inside an apply, or a plan with
// -refresh=false. Only the first error is returned.
func (w *Writer) Add(t Target, refreshed bool) error {
	if w == nil || t.Operation == Update && !refreshed {
		return nil
	}
	t.Run = w.run
	t.fill()
	t.edit(mask.PrintableLine, mask.Printable)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans = w.plans || refreshed
	w.own[t.key()] = t
	var errs []error
	for _, of := range w.files {
		if err := w.write(of); err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", of.path, err))
		}
	}
	if w.failed {
		return nil
	}
	w.failed = len(errs) > 0
	return errors.Join(errs...)
}

// write updates a file with the entries of this process.
func (w *Writer) write(of file) error {
	if !w.late {
		unlock, late := lock(filepath.Dir(of.path))
		defer unlock()
		w.late = late
	}
	merged := newReport(w.merge(readReport(of.data, of.parse).Targets))
	content, err := of.render(merged)
	if err != nil {
		return err
	}
	if of.data != of.path {
		data, err := renderJSON(merged)
		if err != nil {
			return err
		}
		if err := replaceFile(of.data, data); err != nil {
			return err
		}
	}
	return replaceFile(of.path, content)
}

// merge returns the entries of this process and of other processes. A plan drops the entries of
// earlier runs, because their targets may no longer exist.
func (w *Writer) merge(stored []Target) []Target {
	merged := make([]Target, 0, len(stored)+len(w.own))
	approved := map[key]bool{}
	for i := range stored {
		other := &stored[i]
		own, replaced := w.own[other.key()]
		switch {
		case replaced && other.isRepeatedBy(&own):
			approved[own.key()] = true
		case replaced, w.plans && other.Run != w.run:
			continue
		}
		merged = append(merged, *other)
	}
	for at, own := range w.own {
		if !approved[at] {
			merged = append(merged, own)
		}
	}
	return merged
}

// isRepeatedBy reports whether another process of the same run made the same plan of a create, as
// its apply does. The entry for approval then stays.
func (t *Target) isRepeatedBy(other *Target) bool {
	return t.Operation == Create && other.Operation == Create && t.Run == other.Run && t.Unknown == other.Unknown &&
		slices.EqualFunc(t.Deployments, other.Deployments, isRepeated)
}

// isRepeated reports whether two deployments are the same without what was read from clusters.
func isRepeated(stored, own Deployment) bool {
	stored.Notes, stored.Diff = own.Notes, own.Diff
	return reflect.DeepEqual(stored, own)
}
