package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// These limits keep a source from using all memory or time. A Helm release must fit into a Secret
// of 1 MiB, so the limits are far above what can be deployed.
const (
	// MaxFile is how many bytes one file may have.
	MaxFile = 32 << 20
	// MaxBundle is how many bytes the files of one bundle may have.
	MaxBundle = 256 << 20
	// maxSource is how many bytes may be read from one source.
	maxSource = 1 << 30
	// maxValues is how many bytes the values files of one bundle may expand to, each counted as
	// often as it is named.
	maxValues = 64 << 20
	// maxEntries is how many files and folders one bundle may have. It limits the expansion of
	// links to folders that contain links.
	maxEntries = 100_000
	// maxEncrypted is how many files of one source are decrypted, and maxEncryptedSize how
	// many bytes they may have together.
	maxEncrypted     = 1000
	maxEncryptedSize = 64 << 20
	// maxListed is how many bytes the files of all bundles may have. A file of
	// nested bundles counts for each of them.
	maxListed = 4 << 30
	// maxSourceEntries is how many files and folders all bundles may have, counted in
	// the same way.
	maxSourceEntries = 2_000_000
	// maxRules is how many lines of .fleetignore files may apply in one folder.
	maxRules = 1000
	// maxLinks is how many symbolic links are followed for one path.
	maxLinks = 40
)

// SizeError reports that one or more files are larger than allowed.
type SizeError struct {
	// What is the name of a file, or describes several files.
	What string
	// Limit is in bytes.
	Limit  int64
	advice string
}

// Error names the limit and describes what to do.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: larger than the limit of %d MiB%s", e.What, e.Limit>>20, e.advice)
}

const ignoreAdvice = "; exclude files that are not deployed with a .fleetignore"

// CountError reports that there are more of something than allowed.
type CountError struct {
	// What describes the things that were counted.
	What  string
	Limit int
}

// Error names the limit.
func (e *CountError) Error() string {
	return fmt.Sprintf("more than %d %s", e.Limit, e.What)
}

// reading is the state that the folders of one source share.
type reading struct {
	fsys fs.FS
	// contents are the contents of files by their path in fsys. A file of nested bundles is read
	// and kept once.
	contents map[string][]byte
	// size is the size of contents, listed the size of all files of all bundles.
	size, listed int64
	entries      int
	limits       limits
	keys         *sops.Decrypter
	ignoreRules  IgnoreRules
	// imageScans is true if markers are applied. images are the tags for marked lines, and
	// imageNotes are notes about these lines.
	imageScans bool
	images     []MarkedImage
	imageNotes []fleetyaml.Problem
	// decrypted counts the decrypted files, and decryptedSize their bytes.
	decrypted     int
	decryptedSize int64
}

// limits are the limits for one source.
type limits struct {
	size, listed int64
	entries      int
}

func newReading(fsys fs.FS) *reading {
	return &reading{
		fsys: fsys, contents: make(map[string][]byte),
		limits: limits{maxSource, maxListed, maxSourceEntries}, keys: &sops.Decrypter{},
	}
}

// file reads the file at a path of the source. name is the name of the file in errors.
func (r *reading) file(at, name string) ([]byte, error) {
	if content, ok := r.contents[at]; ok {
		return content, nil
	}
	info, err := fs.Stat(r.fsys, at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	if info.Size() > MaxFile {
		return nil, &SizeError{What: name, Limit: MaxFile, advice: ignoreAdvice}
	}
	r.size += info.Size()
	if err := r.full(); err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(r.fsys, at)
	if err != nil {
		return nil, err
	}
	if content, err = r.setImages(at, content); err != nil {
		return nil, err
	}
	r.contents[at] = content
	return content, nil
}

// full returns an error if the source exceeds its limits.
func (r *reading) full() error {
	switch {
	case r.size > r.limits.size:
		return &SizeError{What: "all files together", Limit: r.limits.size, advice: ignoreAdvice}
	case r.listed > r.limits.listed:
		return &SizeError{What: "the files of all bundles together, nested bundles included", Limit: r.limits.listed, advice: ignoreAdvice}
	case r.entries > r.limits.entries:
		return &CountError{What: "files and folders in all bundles together", Limit: r.limits.entries}
	}
	return nil
}

// checkSize refuses a whole bundle that is too large, added files included, and YAML that expands
// to more than can be read.
func (b Bundle) checkSize() error {
	if len(b.Files) > maxEntries {
		return &CountError{What: "files and folders in one bundle", Limit: maxEntries}
	}
	size := 0
	for _, file := range b.Files {
		if size += len(file.Content); size > MaxBundle {
			return &SizeError{What: "the files of the bundle together", Limit: MaxBundle, advice: ignoreAdvice}
		}
		if !isManifest(file.Name) {
			continue
		}
		if err := fleetyaml.CheckAliases(file.Content); err != nil {
			return inYAML(path.Join(b.Path, file.Name), err)
		}
	}
	return nil
}

// inYAML adds the name of the file to the problems of err.
func inYAML(file string, err error) error {
	found, ok := errors.AsType[*fleetyaml.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", file, err)
	}
	problems := slices.Clone(found.Problems)
	for i := range problems {
		problems[i].File = file
	}
	return &fleetyaml.Error{Problems: problems}
}
