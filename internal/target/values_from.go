package target

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// The kinds of objects that values can be read from.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// Reference names an object on the cluster of a deployment.
type Reference struct {
	// Kind is ConfigMap or Secret.
	Kind, Namespace, Name string
}

// String returns the reference as messages contain it, such as "Secret/web/credentials".
func (r Reference) String() string { return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name) }

// Source is one key of an object that values are read from.
type Source struct {
	Reference

	Key string
}

// defaultKey is the key of a source that names no key, as in Fleet
// (internal/helmdeployer/install.go).
const defaultKey = "values.yaml"

// ValuesFrom returns the objects on the cluster that values are read from. Their values are merged
// over all others in this order. An object without a namespace is in the namespace of the release.
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

// References returns the objects that ValuesFrom reads, each once.
func (d Deployment) References() []Reference {
	var references []Reference
	for _, source := range d.ValuesFrom() {
		if !slices.Contains(references, source.Reference) {
			references = append(references, source.Reference)
		}
	}
	return references
}

// Pinned returns the deployment with a digest that covers the versions of the objects that its
// values are read from. Another version is thus a change. If one of the versions is not known, the
// deployment is Unpinned instead.
func (d Deployment) Pinned(versions map[Reference]string) Deployment {
	references := d.References()
	if len(references) == 0 {
		return d
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "values from %s %s", bundle.DigestVersion, d.Digest)
	for _, reference := range references {
		version, ok := versions[reference]
		if !ok {
			d.Unpinned = true
			return d
		}
		fmt.Fprintf(sum, "\n%q %q %q %q", reference.Kind, reference.Namespace, reference.Name, version)
	}
	d.Digest = bundle.FormatDigest(sum)
	d.Unpinned = false
	return d
}
