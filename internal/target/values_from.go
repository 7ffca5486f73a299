package target

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// The kinds of objects that values can come from.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// Reference names an object on the cluster of a deployment.
type Reference struct {
	// Kind is ConfigMap or Secret.
	Kind, Namespace, Name string
}

// String is the reference as it stands in messages, "Secret/web/credentials".
func (r Reference) String() string { return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name) }

// Source is one key of an object that values come from.
type Source struct {
	Reference

	Key string
}

// defaultKey holds the values of a source that names no key, as in Fleet
// (internal/helmdeployer/install.go).
const defaultKey = "values.yaml"

// ValuesFrom are the places on the cluster that values come from, in the order in
// which they are laid over all others. Without a namespace an object is in that of
// the release.
func (d Deployment) ValuesFrom() []Source {
	if d.Options.Helm == nil {
		return nil
	}
	var sources []Source
	add := func(kind string, ref *fleetyaml.KeyRef) {
		if ref == nil {
			return
		}
		sources = append(sources, Source{
			Reference: Reference{Kind: kind, Namespace: cmp.Or(ref.Namespace, d.Namespace), Name: ref.Name},
			Key:       cmp.Or(ref.Key, defaultKey),
		})
	}
	for _, entry := range d.Options.Helm.ValuesFrom {
		add(ConfigMap, entry.ConfigMapKeyRef)
		add(Secret, entry.SecretKeyRef)
	}
	return sources
}

// References are the objects that ValuesFrom reads, each once.
func (d Deployment) References() []Reference {
	var references []Reference
	for _, source := range d.ValuesFrom() {
		if !slices.Contains(references, source.Reference) {
			references = append(references, source.Reference)
		}
	}
	return references
}

// Pinned answers the deployment with a digest that covers the versions of the
// objects its values come from, so that another version is a change. When the
// version of one of them is not known, it is Unpinned instead.
func (d Deployment) Pinned(versions map[Reference]string) Deployment {
	references := d.References()
	if len(references) == 0 {
		return d
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "values from %s %s", digestVersion, d.Digest)
	for _, reference := range references {
		version, ok := versions[reference]
		if !ok {
			d.Unpinned = true
			return d
		}
		fmt.Fprintf(sum, "\n%q %q %q %q", reference.Kind, reference.Namespace, reference.Name, version)
	}
	d.Digest = digestVersion + "-" + hex.EncodeToString(sum.Sum(nil))[:32]
	d.Unpinned = false
	return d
}
