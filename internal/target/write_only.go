package target

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// The attributes of write-only input.
const (
	ValuesAttribute         = "values_wo"
	ValuesVersionsAttribute = "values_wo_version"
	FilesAttribute          = "files_wo"
	FilesVersionsAttribute  = "files_wo_version"
)

// WriteOnly is the write-only input of a deployment. Only the release stores it; Terraform does
// not. The digest covers its versions instead of its content.
type WriteOnly struct {
	Content secret.Of[Content]
	// The versions are "" if there are no values or no files.
	ValuesVersion, FilesVersion string
}

// Content is the content of write-only input.
type Content struct {
	// Values are merged over all other values. Nothing in them is a template.
	Values map[string]any
	// Files are manifests in addition to those of the bundle, sorted by name.
	Files []bundle.File
}

// Unknown is the value in a WriteOnlyInput of what is not known while planning.
type Unknown struct{}

// WriteOnlyInput is the write-only input of a target, by bundle. nil means that all entries are
// unknown, unless there are no versions.
type WriteOnlyInput struct {
	// Values are maps, or texts that contain a map as YAML or JSON.
	Values, Files                 map[string]any
	ValuesVersions, FilesVersions map[string]string
}

// WriteOnlyError reports what is wrong with write-only input. Its text contains names and
// paths, and nothing of the content.
type WriteOnlyError struct {
	Attribute, Bundle string
	Err               error
}

func (e *WriteOnlyError) Error() string {
	return fmt.Sprintf("bundle %s: %s: %v", e.Bundle, e.Attribute, e.Err)
}

// PublicText is the same text, for a deployment whose templates had secret input.
func (e *WriteOnlyError) PublicText() string { return e.Error() }

// Unwrap returns the cause.
func (e *WriteOnlyError) Unwrap() error { return e.Err }

// maxWriteOnlyFiles limits the files of one bundle. A release record stores at most 1 MiB.
const maxWriteOnlyFiles = 1000

// Read returns the write-only input of each bundle that has some. bundles are the names of
// all bundles of the target. Errors are *WriteOnlyError, joined.
func (in WriteOnlyInput) Read(bundles []string) (map[string]*WriteOnly, error) {
	found, contents := map[string]*WriteOnly{}, map[string]*Content{}
	of := func(name string) (*WriteOnly, *Content) {
		if found[name] == nil {
			found[name], contents[name] = &WriteOnly{}, &Content{}
		}
		return found[name], contents[name]
	}
	errs := checkVersions(ValuesAttribute, ValuesVersionsAttribute, in.Values, in.ValuesVersions, bundles)
	errs = append(errs, checkVersions(FilesAttribute, FilesVersionsAttribute, in.Files, in.FilesVersions, bundles)...)
	for _, name := range slices.Sorted(maps.Keys(in.ValuesVersions)) {
		input, content := of(name)
		input.ValuesVersion = in.ValuesVersions[name]
		if given, ok := in.Values[name]; ok {
			values, err := readValues(given)
			errs = appendError(errs, ValuesAttribute, name, err)
			content.Values = values
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.FilesVersions)) {
		input, content := of(name)
		input.FilesVersion = in.FilesVersions[name]
		if given, ok := in.Files[name]; ok {
			files, err := readFiles(given)
			errs = appendError(errs, FilesAttribute, name, err)
			content.Files = files
		}
	}
	for name, content := range contents {
		found[name].Content = secret.Hide(*content)
	}
	return found, errors.Join(errs...)
}

func appendError(errs []error, attribute, name string, err error) []error {
	if err == nil {
		return errs
	}
	return append(errs, &WriteOnlyError{Attribute: attribute, Bundle: name, Err: err})
}

// checkVersions requires a version for each entry and an entry for each version, both for bundles
// of the target. entries are nil if all of them are unknown.
func checkVersions(attribute, versionsAttribute string, entries map[string]any, versions map[string]string, bundles []string) []error {
	var errs []error
	add := func(attribute, name, text string) {
		errs = append(errs, &WriteOnlyError{Attribute: attribute, Bundle: name, Err: errors.New(text)})
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		_, versioned := versions[name]
		switch {
		case !slices.Contains(bundles, name):
			add(attribute, name, "the target has no such bundle; "+listing("bundles", bundles))
		case !versioned:
			add(attribute, name, fmt.Sprintf("%s has no entry for the bundle; a changed entry there deploys a changed value", versionsAttribute))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		_, given := entries[name]
		switch {
		case versions[name] == "":
			add(versionsAttribute, name, "the version is empty")
		case !slices.Contains(bundles, name):
			add(versionsAttribute, name, "the target has no such bundle; "+listing("bundles", bundles))
		case entries != nil && !given:
			add(versionsAttribute, name, fmt.Sprintf("%s has no entry for the bundle", attribute))
		}
	}
	return errs
}

// readValues reads the values of one bundle. It leaves out the parser's error, which can quote the
// values.
func readValues(value any) (map[string]any, error) {
	switch value := value.(type) {
	case Unknown:
		return nil, nil // there are none yet
	case map[string]any:
		data, err := json.Marshal(value)
		if err != nil {
			return nil, errors.New("the values cannot be written as JSON")
		}
		if len(data) > fleetyaml.MaxSize {
			return nil, fmt.Errorf("the values are larger than %d MiB", fleetyaml.MaxSize>>20)
		}
		var values map[string]any // With the types that all values have.
		if json.Unmarshal(data, &values) != nil {
			return nil, errors.New("the values cannot be read as JSON")
		}
		return values, nil
	case string:
		if len(value) > fleetyaml.MaxSize {
			return nil, fmt.Errorf("the values are larger than %d MiB", fleetyaml.MaxSize>>20)
		}
		values, _, err := fleetyaml.Values([]byte(value))
		if err != nil {
			return nil, errors.New("the values are not a map written as YAML or JSON")
		}
		return values, nil
	}
	return nil, errors.New("the values are neither an object nor a map written as YAML or JSON")
}

// readFiles reads the files of one bundle. The content of an unknown file is empty.
func readFiles(value any) ([]bundle.File, error) {
	if _, unknown := value.(Unknown); unknown {
		return nil, nil
	}
	contents, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the files are not a map of path to content")
	}
	if len(contents) > maxWriteOnlyFiles {
		return nil, fmt.Errorf("there are more than %d files", maxWriteOnlyFiles)
	}
	var errs []error
	files, size := make([]bundle.File, 0, len(contents)), 0
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		content, err := fileContent(name, contents[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%q %w", name, err))
		}
		if size += len(content); size > fleetyaml.MaxSize {
			return nil, fmt.Errorf("the files together are larger than %d MiB", fleetyaml.MaxSize>>20)
		}
		files = append(files, bundle.File{Name: name, Content: []byte(content)})
	}
	return files, errors.Join(errs...)
}

func fileContent(name string, value any) (string, error) {
	if name == "." || !fs.ValidPath(name) || strings.Contains(name, "\\") {
		return "", errors.New("is not a path within the bundle, such as \"secrets/db.yaml\"")
	}
	if _, unknown := value.(Unknown); unknown {
		return "", nil
	}
	content, ok := value.(string)
	if !ok {
		return "", errors.New("does not have text as its content")
	}
	if len(content) <= fleetyaml.MaxSize && fleetyaml.CheckAliases([]byte(content)) != nil {
		return "", errors.New("is not valid YAML")
	}
	return content, nil
}

// WithWriteOnly returns the deployment with write-only input, nil for none. The digest then covers
// the versions of the input, but not its content.
func (d Deployment) WithWriteOnly(w *WriteOnly) Deployment {
	if w == nil {
		return d
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "write-only %s %s\n%q %q\n%q %q", bundle.DigestVersion, d.Digest,
		ValuesAttribute, w.ValuesVersion, FilesAttribute, w.FilesVersion)
	d.WriteOnly = w
	d.Digest = bundle.FormatDigest(sum)
	return d
}

// WithoutContent returns the deployment with only the names and versions of its write-only input,
// for code that must not get the content.
func (d Deployment) WithoutContent() Deployment {
	if d.WriteOnly == nil {
		return d
	}
	stripped, files := *d.WriteOnly, slices.Clone(d.WriteOnly.Content.Reveal().Files)
	for i := range files {
		files[i].Content = nil
	}
	stripped.Content = secret.Hide(Content{Files: files})
	d.WriteOnly = &stripped
	return d
}
