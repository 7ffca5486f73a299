package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// folder reads the files of one bundle. Symbolic links are followed inside the folder.
type folder struct {
	*reading
	// root is the path of the folder in the source, fsys the file system below it.
	root string
	fsys fs.FS
	// leftOut are names of files that do not belong to the bundle.
	leftOut map[string]bool
	// fromRepository is true if the bundle has a fleet.yaml or no description. It is false for
	// New.
	fromRepository bool
	// notes are warnings about the files.
	notes []fleetyaml.Problem
	files []File
	// entryCount counts files and folders, filesSize and valuesSize bytes.
	entryCount            int
	filesSize, valuesSize int64
	// values are values files that were read.
	values map[string]values
	// plain are the parts that were decrypted so far, nil if there are none.
	plain *Decrypted
}

// folder opens the folder at a path of the source, which may go through links.
func (r *reading) folder(name string) (*folder, error) {
	root, err := resolve(r.fsys, name, "the source")
	if err != nil {
		return nil, err
	}
	fsys, err := fs.Sub(r.fsys, root)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", root, err)
	}
	return &folder{reading: r, root: root, fsys: fsys, values: make(map[string]values)}, nil
}

// read returns the content of a file.
func (f *folder) read(name string) ([]byte, error) {
	resolved, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	return f.file(path.Join(f.root, resolved), name)
}

// list returns all files, sorted by name. Hidden files are left out, as in Fleet
// (internal/bundlereader/loaddirectory.go).
func (f *folder) list() ([]File, error) {
	if err := f.load(".", ".", nil, nil); err != nil {
		return nil, err
	}
	slices.SortFunc(f.files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return f.files, nil
}

// load reads the folder dir under the name that it has in the bundle. above are the folders that
// contain dir.
func (f *folder) load(dir, name string, rules []rule, above []string) error {
	entries, err := fs.ReadDir(f.fsys, dir)
	if err != nil {
		return fmt.Errorf("listing %s: %w", name, err)
	}
	if rules, err = f.withRules(rules, dir, entries); err != nil {
		return err
	}
	above = append(slices.Clip(above), dir)
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
	if f.entryCount++; f.entryCount > maxEntries {
		return &CountError{What: "files and folders in one bundle", Limit: maxEntries}
	}
	f.entries++
	if err := f.full(); err != nil {
		return err
	}
	switch {
	case mode.IsDir():
		if slices.Contains(above, at) {
			return &LinkError{Path: name, Err: errors.New("it points to a folder that contains it")}
		}
		return f.load(at, name, rules, above)
	case !mode.IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder", name)
	case f.leftOut[name]:
		return nil
	}
	content, err := f.file(path.Join(f.root, at), name)
	if err != nil {
		return err
	}
	f.listed += int64(len(content))
	if f.filesSize += int64(len(content)); f.filesSize > MaxBundle {
		return &SizeError{What: "the files of the bundle together", Limit: MaxBundle, advice: ignoreAdvice}
	}
	f.files = append(f.files, File{Name: name, Content: content})
	return nil
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") && name != "." }

// follow returns the path and the type of a symbolic link's target.
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

func (f *folder) resolve(name string) (string, error) {
	return resolve(f.fsys, name, "the bundle's folder")
}

// resolve returns the path of name without symbolic links. It checks every step of the way, so
// that no link leads out of fsys and back in again. where is the name of fsys in errors.
func resolve(fsys fs.FS, name, where string) (string, error) {
	resolved, links := ".", 0
	rest := strings.Split(path.Clean(name), "/")
	for len(rest) > 0 {
		next := path.Join(resolved, rest[0])
		rest = rest[1:]
		if isOutside(next) {
			return "", &LinkError{Path: name, Err: errors.New("it points outside of " + where)}
		}
		info, err := fs.Lstat(fsys, next)
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
		to, err := fs.ReadLink(fsys, next)
		if err != nil {
			return "", &LinkError{Path: name, Err: err}
		}
		if path.IsAbs(to) {
			return "", &LinkError{Path: name, Err: errors.New("it is absolute, so it points outside of " + where)}
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return resolved, nil
}
