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

// What is read of a source is bounded, so that nothing in it can take all memory
// or time. A Helm release must fit into a Secret of 1 MiB; so these limits are far
// above what can be deployed.
const (
	// MaxFile is how many bytes one file may have.
	MaxFile = 32 << 20
	// MaxBundle is how many bytes the files of one bundle may have.
	MaxBundle = 256 << 20
	// maxSource is how many bytes all that is read of one source may have.
	maxSource = 1 << 30
	// maxValues is how many bytes the values files of one bundle may expand to,
	// each as often as it is named.
	maxValues = 64 << 20
	// maxEntries is how many files and folders one bundle may have. It bounds what
	// links that lead to folders of links can grow into.
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
	// maxRules is how many lines of .fleetignore files may count in one folder.
	maxRules = 1000
	// maxLinks is how many symbolic links one path may go through.
	maxLinks = 40
)

// SizeError says that something is larger than what is read.
type SizeError struct {
	// What is the name of a file, or says what several files are.
	What string
	// Limit is in bytes.
	Limit  int64
	advice string
}

// Error names the limit and says what to do.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: larger than the limit of %d MiB%s", e.What, e.Limit>>20, e.advice)
}

const ignoreAdvice = "; exclude files that are not deployed with a .fleetignore"

// CountError says that there are more things than what is read.
type CountError struct {
	// What says what they are.
	What  string
	Limit int
}

// Error names the limit.
func (e *CountError) Error() string {
	return fmt.Sprintf("more than %d %s", e.Limit, e.What)
}

// reading is what the folders of one source share.
type reading struct {
	fsys fs.FS
	// contents are those of files by their path in fsys. Bundles that contain each
	// other have the same files; they are read and kept once.
	contents map[string][]byte
	// size is that of contents, listed that of all files of all bundles.
	size, listed int64
	entries      int
	limits       limits
	keys         *sops.Decrypter
	ignoreRules  IgnoreRules
	// imageScans says that markers count, images are the tags for marked lines, and imageNotes is
	// what is worth knowing about these.
	imageScans bool
	images     []MarkedImage
	imageNotes []fleetyaml.Problem
	// decrypted counts the files that were, and decryptedSize their bytes.
	decrypted     int
	decryptedSize int64
}

// limits are those of a source.
type limits struct {
	size, listed int64
	entries      int
}

func newReading(fsys fs.FS) *reading {
	return &reading{fsys: fsys, contents: make(map[string][]byte), limits: limits{maxSource, maxListed, maxSourceEntries}, keys: &sops.Decrypter{}}
}

// file reads the file at a path of the source. name is what errors call it.
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

// full says whether there is more in the source than what is read.
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

// checkSize refuses what is too large in a whole bundle, files that were added
// included, and YAML that expands to more than can be read.
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

// inYAML says in which file the problems of err are.
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
