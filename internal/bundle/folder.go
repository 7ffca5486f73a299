package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	// maxFiles bounds what links that lead to folders of links can grow into.
	maxFiles = 100_000
	// maxLinks is how many symbolic links one path may go through.
	maxLinks = 40
)

// folder reads the files of one bundle. Symbolic links are followed as long as
// they stay in it.
type folder struct {
	fsys fs.FS
	// leftOut are names of files that do not belong to the bundle.
	leftOut map[string]bool
	files   []File
}

// read is the content of a file.
func (f *folder) read(name string) ([]byte, error) {
	resolved, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(f.fsys, resolved)
}

// list answers all files, sorted by name. Hidden ones do not count, as in Fleet
// (internal/bundlereader/loaddirectory.go).
func (f *folder) list() ([]File, error) {
	if err := f.load(".", ".", nil, nil); err != nil {
		return nil, err
	}
	slices.SortFunc(f.files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return f.files, nil
}

// load reads the folder dir under the name that it has in the bundle. above are
// the folders it is in.
func (f *folder) load(dir, name string, rules []rule, above []string) error {
	own, err := f.readRules(dir)
	if err != nil {
		return err
	}
	rules = slices.Concat(rules, own)
	above = append(slices.Clip(above), dir)
	entries, err := fs.ReadDir(f.fsys, dir)
	if err != nil {
		return fmt.Errorf("listing %s: %w", name, err)
	}
	for _, entry := range entries {
		ignored := func(isDir bool) bool {
			return slices.ContainsFunc(rules, func(r rule) bool { return r.matches(entry.Name(), isDir) })
		}
		if isHidden(entry.Name()) || ignored(entry.IsDir()) {
			continue
		}
		at, mode := path.Join(dir, entry.Name()), entry.Type()
		if mode&fs.ModeSymlink != 0 {
			if at, mode, err = f.follow(at); err != nil {
				return err
			}
			if ignored(mode.IsDir()) {
				continue
			}
		}
		if err := f.add(at, path.Join(name, entry.Name()), mode, rules, above); err != nil {
			return err
		}
	}
	return nil
}

// add reads the file or folder at, which is called name in the bundle.
func (f *folder) add(at, name string, mode fs.FileMode, rules []rule, above []string) error {
	switch {
	case mode.IsDir():
		if slices.Contains(above, at) {
			return &LinkError{Path: name, Err: errors.New("it leads back to a folder it is in")}
		}
		return f.load(at, name, rules, above)
	case !mode.IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder", name)
	case f.leftOut[name]:
		return nil
	case len(f.files) >= maxFiles:
		return fmt.Errorf("more than %d files", maxFiles)
	}
	content, err := fs.ReadFile(f.fsys, at)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	f.files = append(f.files, File{Name: name, Content: content})
	return nil
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") && name != "." }

// follow answers where a symbolic link leads and what is there.
func (f *folder) follow(link string) (string, fs.FileMode, error) {
	resolved, err := f.resolve(link)
	if err != nil {
		return "", 0, err
	}
	info, err := fs.Lstat(f.fsys, resolved)
	if err != nil {
		return "", 0, &LinkError{Path: link, Err: err}
	}
	return resolved, info.Mode().Type(), nil
}

// resolve answers the path of name without symbolic links. It looks at every
// step of the way, so that no link leads out of the folder and back in again.
func (f *folder) resolve(name string) (string, error) {
	resolved, links := ".", 0
	rest := strings.Split(path.Clean(name), "/")
	for len(rest) > 0 {
		next := path.Join(resolved, rest[0])
		rest = rest[1:]
		if isOutside(next) {
			return "", &LinkError{Path: name, Err: errors.New("it leads out of the bundle's folder")}
		}
		info, err := fs.Lstat(f.fsys, next)
		if err != nil && links > 0 {
			return "", &LinkError{Path: name, Err: err}
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			resolved = next
			continue
		}
		if links++; links > maxLinks {
			return "", &LinkError{Path: name, Err: errors.New("too many links")}
		}
		to, err := fs.ReadLink(f.fsys, next)
		if err != nil {
			return "", &LinkError{Path: name, Err: err}
		}
		if path.IsAbs(to) {
			return "", &LinkError{Path: name, Err: errors.New("it is absolute, so it leads out of the bundle's folder")}
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return resolved, nil
}
