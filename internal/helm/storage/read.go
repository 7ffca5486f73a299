package storage

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Content is the content of a release record: the objects of the release and its hooks.
type Content struct {
	Objects, Hooks []*unstructured.Unstructured
	// Size is the size of the manifest in bytes.
	Size int
	// Chart and Version are the name and the version of the chart.
	Chart, Version string
	// Changed reports that the content is not that of the proven labels.
	Changed bool
	// Values are the values that the release was rendered with, as JSON.
	Values json.RawMessage
	// Err is the reason why the record could not be read.
	Err error
}

// ContentOf reads only the manifest and the hooks of a record. Helm's own function also
// decodes the chart, and panics on a record that it cannot decode.
func ContentOf(secret *corev1.Secret, of release.Inspection) Content {
	recorded, err := unpackRecord(secret.Name, secret.Data[wellknown.RecordKey])
	if err != nil {
		return Content{Err: err}
	}
	if err := recorded.checkObjects(secret.Name); err != nil {
		return Content{Err: err}
	}
	read := ParseRecord(recorded, secret.Name)
	read.Changed = of.Proof.Key != "" && of.Observed.Content != "" && !recorded.Matches(of.Proof, of.Observed)
	return read
}

// ParseRecord reads the objects in a record. name is the name of the record.
func ParseRecord(recorded Record, name string) Content {
	chart := recorded.Chart.Metadata
	read := Content{Size: len(recorded.Manifest), Chart: chart.Name, Version: chart.Version, Values: recorded.Values}
	var err error
	if read.Objects, err = SingleObjects(recorded.Manifest); err != nil {
		return Content{Err: fmt.Errorf("reading the manifest in the release record %s: %w", name, err)}
	}
	for _, hook := range recorded.Hooks {
		objects, err := SingleObjects(hook.Manifest)
		if err != nil {
			return Content{Err: fmt.Errorf("reading a hook in the release record %s: %w", name, err)}
		}
		read.Hooks = append(read.Hooks, objects...)
	}
	return read
}

// SingleObjects reads the objects of a manifest, and those in a List one by one.
func SingleObjects(stream string) ([]*unstructured.Unstructured, error) {
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return nil, err
	}
	return manifest.Flatten(parsed), nil
}

// unpackRecord returns the parts of a record that are read. name is the name of the record.
func unpackRecord(name string, packed []byte) (Record, error) {
	u := newUnpacker()
	defer u.done()
	size, err := u.check(name, packed, firstBytes{&u.text})
	if err != nil {
		return Record{}, err
	}
	if size > large {
		readingLarge.Lock()
		defer readingLarge.Unlock()
	}
	var content Record
	if size <= keptText {
		err = json.Unmarshal(u.text.Bytes(), &content)
	} else if err = u.open(packed); err == nil {
		err = json.NewDecoder(&u.gzip).Decode(&content)
	}
	if err != nil {
		return Record{}, &release.CorruptRecordError{Name: name}
	}
	return content, nil
}

// Size returns the size of manifest, values and hooks, in bytes.
func (r Record) Size() int64 {
	size := len(r.Manifest) + len(r.Values)
	for _, hook := range r.Hooks {
		size += len(hook.Manifest)
	}
	return int64(size)
}
