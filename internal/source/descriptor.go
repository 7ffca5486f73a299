package source

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Spec describes where bundles are stored and how they are made. It contains no credentials.
type Spec struct {
	// Exactly one of Git, Directory and Files is set. For a bundle that is only a chart, Files is
	// empty, not nil.
	Git *PinnedCommit `json:"git,omitempty"`
	// Directory is a local path, exactly as in the configuration.
	Directory string `json:"directory,omitempty"`
	// Files by slash separated path.
	Files map[string]string `json:"files,omitzero"`
	// Path is a folder in the source, slash separated; "" is the whole source.
	Path string `json:"path,omitempty"`

	// HelmRepoURLRegex limits credentials to charts whose repository, or address,
	// begins with a match; "" limits nothing.
	HelmRepoURLRegex string `json:"helmRepoURLRegex,omitempty"`

	// Sources are patterns of the addresses that the content may make the provider fetch. nil allows
	// all, without credentials of git.
	Sources []string `json:"sources,omitzero"`

	// HelmIgnore is true if the .helmignore of a chart is applied.
	HelmIgnore bool `json:"helmIgnore,omitempty"`

	// Exactly one of Read and Definition is set. Read makes all bundles that the files define,
	// Definition makes one bundle of all files.
	Read       *bundle.ReadOptions `json:"read,omitempty"`
	Definition *Definition         `json:"definition,omitempty"`
}

// PinnedCommit is a commit and the branch or revision by which it was found, if any.
type PinnedCommit struct {
	Repo     string `json:"repo"`
	Commit   string `json:"commit"`
	Branch   string `json:"branch,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Submodules is true if submodules are read, too.
	Submodules bool `json:"submodules,omitempty"`
}

// at returns the same source at another commit.
func (s Spec) at(commit string) Spec {
	checkout := *s.Git
	checkout.Commit = commit
	s.Git = &checkout
	return s
}

// Definition is one bundle whose options are not read from a fleet.yaml.
type Definition struct {
	Name    string               `json:"name"`
	Options fleetyaml.Definition `json:"options"`
}

func (c PinnedCommit) ref() Ref { return Ref{Branch: c.Branch, Revision: c.Revision} }

// Descriptor contains all data that another process needs to make one bundle again.
type Descriptor struct {
	Spec

	// Bundle is the name of that bundle among those of the Spec.
	Bundle string `json:"bundle"`
	// Charts are its charts with the versions that were found.
	Charts []Pinned `json:"charts,omitempty"`
}

const (
	// version is the version of the descriptor's format.
	version = 1
	// compressed is the prefix of a descriptor that is base64 of gzip of JSON. Terraform no longer
	// marks a value as sensitive where it replaces a resource, so a reader must not be able to read
	// values in the descriptor directly.
	compressed = "gz:"
	// maxDescriptor is the limit in bytes for an unpacked descriptor.
	maxDescriptor = 64 << 20
)

// encoded is a Descriptor as it is written.
type encoded struct {
	Version int `json:"v"`
	Descriptor
}

// Encode writes the descriptor as an opaque string. Equal descriptors have equal strings if the
// same release of the provider writes them.
func (d Descriptor) Encode() (string, error) {
	if err := d.validate(); err != nil {
		return "", err
	}
	content, err := json.Marshal(encoded{version, d})
	if err != nil {
		return "", fmt.Errorf("writing the descriptor of bundle %s: %w", d.Bundle, err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("compressing the descriptor of bundle %s: %w", d.Bundle, err)
	}
	return compressed + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// Decode reads the result of Encode. The errors do not show the content of the descriptor, which
// can include values.
func Decode(text string) (Descriptor, error) {
	packed, ok := strings.CutPrefix(text, compressed)
	if !ok {
		return Descriptor{}, errNoDescriptor
	}
	content, err := decompress(packed)
	if err != nil {
		return Descriptor{}, fmt.Errorf("unpacking the descriptor of a bundle: %w", err)
	}
	var e struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(content, &e); err != nil {
		return Descriptor{}, errNoDescriptor
	}
	if e.Version != version {
		return Descriptor{}, fmt.Errorf("the descriptor of a bundle has version %d, and this release of the provider supports "+
			"version %d; use the release that wrote the state, or a newer one",
			e.Version, version)
	}
	var d Descriptor
	if err := json.Unmarshal(content, &d); err != nil {
		return Descriptor{}, errNoDescriptor
	}
	return d, d.validate()
}

var errNoDescriptor = errors.New("this is not the descriptor of a bundle; use the bundles attribute of fleet_gitrepo or " +
	"fleet_bundle unchanged")

func decompress(packed string) ([]byte, error) {
	compressed, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxDescriptor+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxDescriptor {
		return nil, fmt.Errorf("it is larger than %d bytes", maxDescriptor)
	}
	return content, r.Close()
}

func (d Descriptor) validate() error {
	if d.Bundle == "" {
		return errors.New("the descriptor has no bundle name")
	}
	return d.Spec.validate()
}

func (s Spec) validate() error {
	if count(s.Git != nil, s.Directory != "", s.Files != nil) != 1 {
		return errors.New("a source has exactly one of git, directory and files")
	}
	if count(s.Read != nil, s.Definition != nil) != 1 {
		return errors.New("a source has exactly one of read and definition")
	}
	if s.Git != nil && (s.Git.Repo == "" || s.Git.Commit == "") {
		return errors.New("a git source needs a repository and a commit")
	}
	if s.Definition != nil && s.Definition.Name == "" {
		return errors.New("a definition needs the name of its bundle")
	}
	return nil
}

func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// key returns a key that is equal for equal specs.
func (s Spec) key() (string, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", s.where(), err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// where describes the source for an error.
func (s Spec) where() string {
	switch {
	case s.Git != nil:
		return fmt.Sprintf("commit %s of %s", s.Git.Commit, bundle.Shown(s.Git.Repo))
	case s.Directory != "":
		return "directory " + s.Directory
	}
	if len(s.Files) == 0 {
		return "its chart"
	}
	return "files given inline"
}
