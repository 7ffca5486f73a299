package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// HelmIgnoreFile leaves files out of the chart in its folder. It is the only hidden file that a
// bundle can have. A bundle has this file only if it leaves out another file, so that the digests
// of other bundles do not depend on it. Fleet has no hidden files in a bundle and does not apply
// it.
const HelmIgnoreFile = ".helmignore"

// IgnoreRules reads a HelmIgnoreFile. The returned function reports whether a file is left out,
// by its path in the folder of the chart.
type IgnoreRules func(content []byte) (func(name string) bool, error)

// addIgnoreFiles adds the .helmignore of the charts in the folder.
func (f *folder) addIgnoreFiles(b *Bundle) error {
	if f.ignoreRules == nil {
		return nil
	}
	for _, chart := range chartsOf(&b.Definition) {
		dir := path.Clean(chart.Name)
		if tree(b.Files).isElsewhere(chart) || !tree(b.Files).has(path.Join(dir, chartFile)) {
			continue
		}
		if err := f.addIgnoreFile(b, dir); err != nil {
			return err
		}
	}
	return nil
}

// addIgnoreFile adds the .helmignore of the chart in dir if it leaves out a file.
func (f *folder) addIgnoreFile(b *Bundle, dir string) error {
	name := path.Join(dir, HelmIgnoreFile)
	at, isThere := tree(b.Files).find(name)
	if isThere {
		return nil
	}
	content, err := f.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if bytes.Count(content, []byte("\n")) > maxRules {
		return fmt.Errorf("%s: %w", name, &CountError{What: "lines", Limit: maxRules})
	}
	isLeftOut, err := f.ignoreRules(content)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	effective := slices.ContainsFunc(b.Files, func(file File) bool {
		relative, below := strings.CutPrefix(file.Name, prefix)
		return below && isLeftOut(relative)
	})
	if effective {
		b.Files = slices.Insert(b.Files, at, File{Name: name, Content: content})
	}
	return nil
}
