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

// Spec says where bundles are kept and how they are made. It contains no
// credentials.
type Spec struct {
	// Exactly one of Git, Directory and Files is set. A bundle that is nothing
	// but a chart has Files that are empty, not nil.
	Git *PinnedCommit `json:"git,omitempty"`
	// Directory is a local path, kept as it was written.
	Directory string `json:"directory,omitempty"`
	// Files by slash separated path.
	Files map[string]string `json:"files,omitzero"`
	// Path is a folder in it, slash separated; "" is all of it.
	Path string `json:"path,omitempty"`

	// HelmRepoURLRegex limits credentials to charts whose repository, or address,
	// begins with a match; "" limits nothing.
	HelmRepoURLRegex string `json:"helmRepoURLRegex,omitempty"`

	// HelmIgnore says that the .helmignore of a chart counts. Descriptors of former releases
	// lack it, and make the bundles that they made then.
	HelmIgnore bool `json:"helmIgnore,omitempty"`

	// Exactly one of Read and Definition is set. Read makes as many bundles as
	// there are, Definition makes one of all files.
	Read       *bundle.ReadOptions `json:"read,omitempty"`
	Definition *Definition         `json:"definition,omitempty"`
}

// PinnedCommit is a commit and the branch or revision it was found by, if any.
type PinnedCommit struct {
	Repo     string `json:"repo"`
	Commit   string `json:"commit"`
	Branch   string `json:"branch,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Submodules says that they are read too.
	Submodules bool `json:"submodules,omitempty"`
}

// at is the same source at another commit.
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

// Descriptor is all that another process needs to make one bundle again.
type Descriptor struct {
	Spec

	// Bundle is the name of that bundle among those of the Spec.
	Bundle string `json:"bundle"`
	// Charts are what its charts were found to be.
	Charts []Pinned `json:"charts,omitempty"`
}

const (
	// version is that of the descriptor's format.
	version = 1
	// compressed is the prefix of a descriptor that is base64 of gzip of JSON. Terraform
	// forgets that a value is sensitive where it replaces a resource, so values must
	// not be legible in it at a glance. The first releases wrote small ones as JSON.
	compressed = "gz:"
	// maxDescriptor bounds in bytes what a compressed descriptor may unpack to.
	maxDescriptor = 64 << 20
)

// encoded is a Descriptor as it is written.
type encoded struct {
	Version int `json:"v"`
	Descriptor
}

// Encode writes the descriptor as an opaque string. Equal descriptors give
// equal strings as long as they are written by the same release of the provider.
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

// Decode reads what Encode has written. The errors do not show what the
// descriptor contains: values may be among it.
func Decode(text string) (Descriptor, error) {
	content := []byte(text)
	if packed, ok := strings.CutPrefix(text, compressed); ok {
		var err error
		if content, err = decompress(packed); err != nil {
			return Descriptor{}, fmt.Errorf("unpacking the descriptor of a bundle: %w", err)
		}
	}
	var e struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(content, &e); err != nil {
		return Descriptor{}, errNoDescriptor
	}
	if e.Version != version {
		return Descriptor{}, fmt.Errorf("the descriptor of a bundle has version %d, and this release of the provider supports version %d; use the release that wrote the state, or a newer one",
			e.Version, version)
	}
	var d Descriptor
	if err := json.Unmarshal(content, &d); err != nil {
		return Descriptor{}, errNoDescriptor
	}
	return d, d.validate()
}

var errNoDescriptor = errors.New("this is not the descriptor of a bundle; use the bundles attribute of fleet_gitrepo or fleet_bundle unchanged")

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

// key is equal for equal specs.
func (s Spec) key() (string, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", s.where(), err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// where describes the source to a person.
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
