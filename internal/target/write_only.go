package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
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
	// Values are merged over all other values. Nothing in them is a template.
	Values map[string]any
	// Files are manifests in addition to those of the bundle, sorted by name.
	Files []bundle.File
	// The versions are "" if there are no values or no files.
	ValuesVersion, FilesVersion string
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
	found := map[string]*WriteOnly{}
	of := func(name string) *WriteOnly {
		if found[name] == nil {
			found[name] = &WriteOnly{}
		}
		return found[name]
	}
	errs := checkVersions(ValuesAttribute, ValuesVersionsAttribute, in.Values, in.ValuesVersions, bundles)
	errs = append(errs, checkVersions(FilesAttribute, FilesVersionsAttribute, in.Files, in.FilesVersions, bundles)...)
	for _, name := range slices.Sorted(maps.Keys(in.ValuesVersions)) {
		of(name).ValuesVersion = in.ValuesVersions[name]
		if given, ok := in.Values[name]; ok {
			values, err := readValues(given)
			errs = appendError(errs, ValuesAttribute, name, err)
			of(name).Values = values
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.FilesVersions)) {
		of(name).FilesVersion = in.FilesVersions[name]
		if given, ok := in.Files[name]; ok {
			files, err := readFiles(given)
			errs = appendError(errs, FilesAttribute, name, err)
			of(name).Files = files
		}
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
	fmt.Fprintf(sum, "write-only %s %s\n%q %q\n%q %q", digestVersion, d.Digest,
		ValuesAttribute, w.ValuesVersion, FilesAttribute, w.FilesVersion)
	d.WriteOnly, d.Digest = w, digestVersion+"-"+hex.EncodeToString(sum.Sum(nil))[:32]
	return d
}

// WithoutContent returns the deployment with only the names and versions of its write-only input,
// for code that must not get the content.
func (d Deployment) WithoutContent() Deployment {
	if d.WriteOnly == nil {
		return d
	}
	stripped := *d.WriteOnly
	stripped.Values, stripped.Files = nil, slices.Clone(stripped.Files)
	for i := range stripped.Files {
		stripped.Files[i].Content = nil
	}
	d.WriteOnly = &stripped
	return d
}

// HasSecretContent reports whether a deployment has decrypted files or write-only input with its
// content.
func (d Deployment) HasSecretContent() bool {
	if d.isDecrypted() {
		return true
	}
	return d.WriteOnly != nil && (d.WriteOnly.Values != nil || slices.ContainsFunc(d.WriteOnly.Files, func(f bundle.File) bool { return f.Content != nil }))
}

// ReadsSecrets reports whether values of a deployment come from Secrets on the cluster.
func (d Deployment) ReadsSecrets() bool {
	return slices.ContainsFunc(d.ValuesFrom(), func(s Source) bool { return s.Kind == Secret })
}

// HidesContent reports whether the objects of a deployment can contain secret values: from the
// cluster, from write-only input or from an encrypted file.
func (d Deployment) HidesContent() bool { return d.LacksContent() || d.isDecrypted() }

func (d Deployment) isDecrypted() bool { return d.Bundle != nil && d.Bundle.HasSecrets() }

// LacksContent reports whether a deployment is made from more than its digest covers: values from
// the cluster, or write-only values.
func (d Deployment) LacksContent() bool { return d.WriteOnly != nil || len(d.ValuesFrom()) > 0 }

// SecretTexts returns the texts of a deployment that must not be printed: the texts of its
// write-only input and the decrypted texts of its bundle.
func (d Deployment) SecretTexts() []string {
	var texts []string
	if d.isDecrypted() {
		texts = d.Bundle.Secrets.Texts
	}
	if d.WriteOnly == nil {
		return texts
	}
	found := map[string]bool{}
	addLeaves(found, d.WriteOnly.Values)
	for _, file := range d.WriteOnly.Files {
		addManifests(found, string(file.Content))
	}
	return append(slices.Sorted(maps.Keys(found)), texts...)
}

// Mask hides the secret texts of a deployment in another text.
func (d Deployment) Mask(text string) string {
	texts := d.SecretTexts()
	if len(texts) == 0 {
		return text
	}
	masker := &mask.Masker{}
	masker.AddTexts(texts...)
	return masker.Text(text)
}

// MaskError returns an error without the secret texts of a deployment.
func (d Deployment) MaskError(err error) error {
	if err == nil {
		return nil
	}
	return mask.WithText(err, d.Mask(err.Error()))
}

// addManifests adds the leaves of each object, except those that name the object or its type. A
// file that is no YAML is added as one text.
func addManifests(found map[string]bool, content string) {
	for document := range strings.SplitSeq("\n"+content, "\n---") {
		var object map[string]any
		if yaml.Unmarshal([]byte(document), &object) != nil {
			addText(found, document)
			continue
		}
		for field, value := range object {
			switch field {
			case "apiVersion", "kind", "metadata", "type", "immutable":
			default:
				addLeaves(found, value)
			}
		}
	}
}

func addLeaves(found map[string]bool, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			addLeaves(found, item)
		}
	case []any:
		for _, item := range value {
			addLeaves(found, item)
		}
	case string:
		addText(found, value)
	case float64:
		addText(found, strconv.FormatFloat(value, 'f', -1, 64))
		addText(found, fmt.Sprint(value)) // As templates write it.
	}
}

func addText(found map[string]bool, text string) {
	if text = strings.TrimSpace(text); text != "" {
		found[text] = true
	}
}
