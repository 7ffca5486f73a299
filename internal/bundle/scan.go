package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// scan returns the folders that make a bundle, sorted, as Fleet does
// (internal/cmd/cli/apply/apply.go). These are the folders with a fleet.yaml in every folder that
// matches one of the patterns. The matching folder itself is included if it has manifests outside
// of those folders. A pattern with wildcards may match nothing if another pattern matches; scan
// then returns it in unmatched.
func scan(fsys fs.FS, patterns []string) (folders, unmatched []string, err error) {
	found := make(map[string]bool)
	missing := false
	for _, pattern := range patterns {
		roots, err := matching(fsys, pattern)
		if err != nil {
			return nil, nil, err
		}
		if len(roots) == 0 {
			unmatched = append(unmatched, pattern)
			missing = missing || !strings.ContainsAny(pattern, `*?[\`)
		}
		for _, root := range roots {
			if err := scanRoot(fsys, root, found); err != nil {
				return nil, nil, err
			}
		}
	}
	if missing || len(unmatched) == len(patterns) {
		return nil, nil, &NoMatchError{Paths: unmatched}
	}
	return slices.Sorted(maps.Keys(found)), unmatched, nil
}

// matching returns the folders that a pattern matches.
func matching(fsys fs.FS, pattern string) ([]string, error) {
	cleaned := path.Clean(strings.TrimLeft(pattern, "/"))
	if isOutside(cleaned) {
		return nil, &PathError{Path: pattern, Outside: true}
	}
	names, err := fs.Glob(fsys, cleaned)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", pattern, err)
	}
	var folders []string
	for _, name := range names {
		isFolder, err := isFolder(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", pattern, err)
		}
		if isFolder && path.Base(name) != ".git" {
			folders = append(folders, name)
		}
	}
	return folders, nil
}

// isFolder reports whether name is a folder, or a link to one inside of the source.
func isFolder(fsys fs.FS, name string) (bool, error) {
	resolved, err := resolve(fsys, name, "the source")
	if err != nil {
		return false, err
	}
	info, err := fs.Lstat(fsys, resolved)
	return err == nil && info.IsDir(), err
}

// isOutside reports whether a cleaned name leads out of its starting folder.
func isOutside(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// escapes reports the same for a name as it was written. Absolute names count as well.
func escapes(name string) bool { return path.IsAbs(name) || isOutside(path.Clean(name)) }

func scanRoot(fsys fs.FS, root string, found map[string]bool) error {
	entries, err := fs.ReadDir(fsys, root)
	if err != nil {
		return fmt.Errorf("listing %s: %w", root, err)
	}
	hasManifest, err := scanBelow(fsys, root, entries, found)
	if err != nil {
		return err
	}
	if hasManifest || hasFleetFile(fsys, root, entries) {
		found[root] = true
	}
	return nil
}

// scanBelow finds the folders below dir that have a fleet.yaml. It reports whether a manifest can be
// reached from dir without crossing such a folder.
func scanBelow(fsys fs.FS, dir string, entries []fs.DirEntry, found map[string]bool) (hasManifest bool, err error) {
	for _, entry := range entries {
		if !entry.IsDir() {
			hasManifest = hasManifest || isManifest(entry.Name())
			continue
		}
		if entry.Name() == ".git" {
			continue
		}
		name := path.Join(dir, entry.Name())
		below, err := fs.ReadDir(fsys, name)
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", name, err)
		}
		manifests, err := scanBelow(fsys, name, below, found)
		if err != nil {
			return false, err
		}
		if hasFleetFile(fsys, name, below) {
			found[name] = true
			continue
		}
		hasManifest = hasManifest || manifests
	}
	return hasManifest, nil
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// fleetFiles returns the names of the file that describes a bundle; the first one that exists is
// used.
func fleetFiles() []string { return []string{"fleet.yaml", "fleet.yml"} }

func hasFleetFile(fsys fs.FS, dir string, entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		if !slices.Contains(fleetFiles(), entry.Name()) || entry.IsDir() {
			return false
		}
		if entry.Type()&fs.ModeSymlink == 0 {
			return true
		}
		// A link that leads nowhere is reported when the file is read.
		info, err := fs.Stat(fsys, path.Join(dir, entry.Name()))
		return errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir())
	})
}
