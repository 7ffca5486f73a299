package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/tools/txtar"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// readSpec makes the bundles of spec.
func (s *Store) readSpec(ctx context.Context, spec Spec) (bundle.Result, error) {
	files, done, err := s.open(ctx, spec)
	if err != nil {
		return bundle.Result{}, err
	}
	defer done()
	if files, err = enter(files, spec.Path); err != nil {
		return bundle.Result{}, fmt.Errorf("reading %s: %w", spec.where(), err)
	}
	reader := s.reader
	if !spec.HelmIgnore {
		reader.IgnoreRules = nil
	}
	if spec.Read != nil {
		result, err := reader.Read(files, *spec.Read)
		if err != nil {
			return bundle.Result{}, fmt.Errorf("reading %s: %w", spec.where(), err)
		}
		return result, nil
	}
	options, err := settled(spec.Definition.Options)
	if err != nil {
		return bundle.Result{}, fmt.Errorf("reading the options of bundle %s: %w", spec.Definition.Name, err)
	}
	made, warnings, err := reader.New(spec.Definition.Name, files, options)
	if err != nil {
		return bundle.Result{}, fmt.Errorf("building bundle %s from %s: %w", spec.Definition.Name, spec.where(), err)
	}
	made.HCL = bundle.HCL{Files: len(spec.Files) > 0, Texts: bundle.TextsOf(options)}
	return bundle.Result{Bundles: []bundle.Bundle{made}, Warnings: warnings}, nil
}

// settled returns a definition as it is after encoding and decoding a descriptor: numbers, for
// example, are float64. So a bundle is the same whether it is made from a configuration or from a
// descriptor.
func settled(d fleetyaml.Definition) (fleetyaml.Definition, error) {
	content, err := json.Marshal(d)
	if err != nil {
		return fleetyaml.Definition{}, err
	}
	var after fleetyaml.Definition
	return after, json.Unmarshal(content, &after)
}

// open returns the files of spec. The caller must call done after reading them.
func (s *Store) open(ctx context.Context, spec Spec) (files fs.FS, done func(), err error) {
	nothing := func() {}
	switch {
	case spec.Git != nil && s.git == nil:
		return nil, nil, errNoGit
	case spec.Git != nil:
		if ctx, err = spec.within(ctx); err != nil {
			return nil, nil, err
		}
		fetch := s.git.Fetch
		if spec.Git.Submodules {
			fetch = s.git.FetchWithSubmodules
		}
		files, err = fetch(ctx, spec.Git.Repo, spec.Git.Commit, spec.Git.ref())
		if err != nil {
			return nil, nil, &fetchError{err}
		}
		return files, nothing, nil
	case spec.Directory != "":
		return openDirectory(spec.Directory)
	}
	files, err = inline(spec.Files)
	return files, nothing, err
}

var errNoGit = errors.New("git repositories cannot be read here")

// fetchError reports that a commit could not be fetched. Other errors are those of reading its
// files.
type fetchError struct{ err error }

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// openDirectory restricts reading to the directory: reading a symbolic link that leads out of it
// fails.
func openDirectory(dir string) (fs.FS, func(), error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, &DirectoryError{Path: dir, Err: err}
	}
	return root.FS(), func() { _ = root.Close() }, nil
}

func inline(files map[string]string) (fs.FS, error) {
	archive := &txtar.Archive{}
	for name, content := range files {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(content)})
	}
	fsys, err := txtar.FS(archive)
	if err != nil {
		return nil, fmt.Errorf("reading files given inline: %w (paths are relative, slash separated and without \"..\")", err)
	}
	return fsys, nil
}

// enter returns the files of a folder.
func enter(files fs.FS, folder string) (fs.FS, error) {
	folder = path.Clean(folder) // "" becomes ".".
	info, err := fs.Stat(files, folder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: folder, Err: errors.New("not a directory")}
	}
	return fs.Sub(files, folder)
}
