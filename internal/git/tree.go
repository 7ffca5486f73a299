package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxLinks is how many symbolic links are followed for one path.
const maxLinks = 40

// lfsPointer is the beginning of a pointer file of Git LFS. Such a file is smaller than 1 KiB
// (git-lfs, docs/spec.md).
const (
	lfsPointer     = "version https://git-lfs.github.com/spec/"
	lfsPointerSize = 1024
)

// objects are the fetched objects of one commit. They are safe for concurrent use.
type objects struct {
	pack     *pack
	top      plumbing.Hash
	about    About
	allStats map[plumbing.Hash]treeStats

	mu      sync.Mutex
	closed  bool
	folders map[plumbing.Hash][]entry
}

// entry is one name in a folder.
type entry struct {
	name string
	mode fs.FileMode
	hash plumbing.Hash
	// commit is set for a submodule, whose hash is zero.
	commit plumbing.Hash
}

// newObjects fails with plumbing.ErrObjectNotFound when the pack does not contain the commit.
func newObjects(from *pack, commit plumbing.Hash) (*objects, error) {
	encoded, err := from.object(commit)
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	found, err := object.DecodeCommit(nil, encoded)
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	o := &objects{
		pack: from, top: found.TreeHash, about: aboutOf(found),
		allStats: make(map[plumbing.Hash]treeStats), folders: make(map[plumbing.Hash][]entry),
	}
	if _, err := o.stats(o.top, 0); err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", commit, err)
	}
	return o, nil
}

func (o *objects) root() tree { return tree{objects: o} }

func (o *objects) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	return o.pack.file.Close()
}

// list returns the entries of a folder, sorted by name.
func (o *objects) list(folder plumbing.Hash) ([]entry, error) {
	if folder.IsZero() {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, fs.ErrClosed
	}
	if entries, ok := o.folders[folder]; ok {
		return entries, nil
	}
	entries, err := o.decode(folder)
	if err != nil {
		return nil, err
	}
	o.folders[folder] = entries
	return entries, nil
}

func (o *objects) decode(folder plumbing.Hash) ([]entry, error) {
	encoded, err := o.pack.object(folder)
	if err != nil {
		return nil, fmt.Errorf("reading git tree %s: %w", folder, err)
	}
	found, err := object.DecodeTree(nil, encoded)
	if err != nil {
		return nil, fmt.Errorf("reading git tree %s: %w", folder, err)
	}
	entries := make([]entry, 0, len(found.Entries))
	for _, e := range found.Entries {
		// git makes no such names. Those of a crafted commit are skipped.
		if e.Name == "." || !fs.ValidPath(e.Name) || strings.Contains(e.Name, "/") {
			continue
		}
		entries = append(entries, newEntry(e))
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

func newEntry(e object.TreeEntry) entry {
	switch e.Mode {
	case filemode.Dir:
		return entry{name: e.Name, mode: fs.ModeDir | 0o555, hash: e.Hash}
	case filemode.Submodule:
		return entry{name: e.Name, mode: fs.ModeDir | 0o555, commit: e.Hash}
	case filemode.Symlink:
		return entry{name: e.Name, mode: fs.ModeSymlink | 0o777, hash: e.Hash}
	case filemode.Executable:
		return entry{name: e.Name, mode: 0o555, hash: e.Hash}
	default:
		return entry{name: e.Name, mode: 0o444, hash: e.Hash}
	}
}

// tree is the file system of one commit.
type tree struct {
	objects *objects
	// modules are the submodules that were fetched, by path.
	modules map[string]tree
}

// resolvedEntry is an entry and its place.
type resolvedEntry struct {
	entry

	in tree   // The repository that contains it.
	at string // Its path there, "" for the root.
}

var (
	_ fs.ReadDirFS  = tree{}
	_ fs.ReadFileFS = tree{}
	_ fs.StatFS     = tree{}
	_ fs.ReadLinkFS = tree{}
)

// Open opens a file or folder; symbolic links are followed.
func (t tree) Open(name string) (fs.File, error) {
	found, err := t.find(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !found.mode.IsDir() {
		return &file{info: found.info(name), path: name}, nil
	}
	entries, err := found.list()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &folder{info: found.info(name), path: name, entries: entries}, nil
}

// ReadDir lists a folder, sorted by name.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := t.find(name, true)
	if err == nil && !found.mode.IsDir() {
		err = errNotFolder
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	entries, err := found.list()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries, nil
}

var (
	errNotFolder = errors.New("not a directory")
	errFolder    = errors.New("is a directory")
	errLinks     = errors.New("too many levels of symbolic links")
)

// list returns the entries of a folder.
func (p resolvedEntry) list() ([]fs.DirEntry, error) {
	entries, err := p.in.objects.list(p.hash)
	if err != nil {
		return nil, err
	}
	list := make([]fs.DirEntry, 0, len(entries))
	for _, e := range entries {
		list = append(list, info{entry: e, base: e.name, objects: p.in.objects})
	}
	return list, nil
}

// ReadFile reads a whole file; symbolic links are followed.
func (t tree) ReadFile(name string) ([]byte, error) {
	found, err := t.find(name, true)
	if err == nil && found.mode.IsDir() {
		err = errFolder
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return found.info(name).read(name)
}

// Stat describes a file or folder; symbolic links are followed.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	found, err := t.find(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return found.info(name).sized(name)
}

// Lstat is Stat that does not follow name itself when it is a symbolic link.
func (t tree) Lstat(name string) (fs.FileInfo, error) {
	found, err := t.find(name, false)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return found.info(name).sized(name)
}

// ReadLink returns the target of a symbolic link as it is in git.
func (t tree) ReadLink(name string) (string, error) {
	found, err := t.find(name, false)
	if err == nil && found.mode&fs.ModeSymlink == 0 {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	target, err := found.in.objects.pack.read(found.hash)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(target), nil
}

// find returns the entry at name. It follows symbolic links on the way to name, and name itself
// if follow is set.
func (t tree) find(name string, follow bool) (resolvedEntry, error) {
	if !fs.ValidPath(name) {
		return resolvedEntry{}, fs.ErrInvalid
	}
	walked := []resolvedEntry{t.root(".")}
	pending := strings.Split(name, "/")
	for links := 0; len(pending) > 0; {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(walked) == 1 {
				return resolvedEntry{}, ErrOutsideTree
			}
			walked = walked[:len(walked)-1]
			continue
		}
		found, err := walked[len(walked)-1].child(part)
		if err != nil {
			return resolvedEntry{}, err
		}
		if found.mode&fs.ModeSymlink == 0 || !follow && len(pending) == 0 {
			walked = append(walked, found)
			continue
		}
		if links++; links > maxLinks {
			return resolvedEntry{}, errLinks
		}
		target, err := found.in.objects.pack.read(found.hash)
		if err != nil {
			return resolvedEntry{}, err
		}
		if path.IsAbs(string(target)) {
			return resolvedEntry{}, ErrOutsideTree
		}
		pending = append(strings.Split(string(target), "/"), pending...)
	}
	return walked[len(walked)-1], nil
}

// root returns the top folder of a tree as an entry with a name: "." or the name of the
// submodule.
func (t tree) root(name string) resolvedEntry {
	return resolvedEntry{entry: entry{name: name, mode: fs.ModeDir | 0o555, hash: t.objects.top}, in: t}
}

func (p resolvedEntry) child(name string) (resolvedEntry, error) {
	if !p.mode.IsDir() {
		return resolvedEntry{}, fs.ErrNotExist
	}
	entries, err := p.in.objects.list(p.hash)
	if err != nil {
		return resolvedEntry{}, err
	}
	i, ok := slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return cmp.Compare(e.name, name) })
	if !ok {
		return resolvedEntry{}, fs.ErrNotExist
	}
	at := path.Join(p.at, name)
	if module, ok := p.in.modules[at]; ok {
		return module.root(name), nil
	}
	return resolvedEntry{entry: entries[i], in: p.in, at: at}, nil
}

func (p resolvedEntry) info(name string) info {
	return info{entry: p.entry, base: path.Base(name), objects: p.in.objects}
}

// info is both fs.FileInfo and fs.DirEntry.
type info struct {
	entry

	base    string
	bytes   int64
	objects *objects
}

func (i info) Name() string       { return i.base }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) Type() fs.FileMode  { return i.mode.Type() }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }
func (i info) Size() int64        { return i.bytes }
func (i info) String() string     { return fs.FormatDirEntry(i) }

// Info completes the entry with the size of the file.
func (i info) Info() (fs.FileInfo, error) { return i.sized(i.base) }

// sized adds the size of a file. It is a separate step because it reads the index of the pack.
func (i info) sized(name string) (fs.FileInfo, error) {
	if i.IsDir() {
		return i, nil
	}
	size, err := i.objects.pack.size(i.hash)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	i.bytes = size
	return i, nil
}

func (i info) read(name string) ([]byte, error) {
	content, err := i.objects.pack.read(i.hash)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	if len(content) < lfsPointerSize && bytes.HasPrefix(content, []byte(lfsPointer)) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: &LFSPointerError{Path: name}}
	}
	return content, nil
}

// file reads its whole content with the first Read.
type file struct {
	info   info
	path   string
	reader *bytes.Reader
	closed bool
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info.sized(f.path) }

func (f *file) Read(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
	}
	if f.reader == nil {
		content, err := f.info.read(f.path)
		if err != nil {
			return 0, err
		}
		f.reader = bytes.NewReader(content)
	}
	return f.reader.Read(p)
}

func (f *file) Close() error {
	f.closed, f.reader = true, nil
	return nil
}

// folder is an open folder.
type folder struct {
	info    info
	path    string
	entries []fs.DirEntry // Those not read yet.
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: errFolder}
}

// ReadDir returns the next n entries, all of them when n is not positive.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	var next []fs.DirEntry
	next, f.entries = f.entries[:n:n], f.entries[n:]
	return next, nil
}
