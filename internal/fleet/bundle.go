// Package fleet delivers deployments with a real Fleet. It writes Bundles into the management
// cluster, and reads the results of Fleet's agents from the BundleDeployments. It connects to no
// other cluster.
package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels of this provider on Bundles. Fleet copies them to the BundleDeployments
// (Fleet: internal/cmd/controller/target/target.go, BundleDeploymentLabels).
const (
	labelPrefix   = "agentless-fleet.github.io/"
	labelOwner    = labelPrefix + "owner"
	labelTarget   = labelPrefix + "target"
	labelInstance = labelPrefix + "instance"
	labelBundle   = labelPrefix + "bundle"
	labelAdoption = labelPrefix + "adoption-key"
	// labelDigest covers the specification and annotationDeployments. On a BundleDeployment, the
	// label identifies the specification from which Fleet computed the BundleDeployment.
	labelDigest = labelPrefix + "digest"
)

const (
	// annotationDeployments maps clusters to the digests of their deployments, as JSON.
	annotationDeployments = labelPrefix + "deployments"
	// annotationGeneration is the generation of the Bundle that this provider wrote. If the Bundle
	// has another generation, another client has changed it.
	annotationGeneration = labelPrefix + "generation"
	// annotationSecrets is set on a Bundle that has or had values that no state stores. Only the
	// apply that writes the Bundle can mask them in messages of agents.
	annotationSecrets = labelPrefix + "secrets"
)

// Limits of one Bundle. An API server reads requests of 3 MiB, etcd's client sends 2 MiB, and
// Fleet stores the content a second time beside what it adds.
const (
	maxBundle      = 1_900_000
	maxAnnotations = 240 << 10
	// maxSecret is for the values of all clusters. An API server stores 1 MiB.
	maxSecret = 1_000_000
)

// checkLimit returns an error for a Bundle that the management cluster would not store. what is such
// as "the values of all clusters", and object is the object that cannot store it.
func checkLimit(bundle, what, object string, size, limit int) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("bundle %s: %s take %d bytes, and %s can have at most %d; split the bundle, or use two targets with fewer clusters each",
		bundle, what, size, object, limit)
}

// specification is the part of a Bundle's spec that is not about single clusters
// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1, BundleSpec). Its options are added by compose.
type specification struct {
	DependsOn       []fleetyaml.Dependency     `json:"dependsOn,omitempty"`
	RolloutStrategy *fleetyaml.RolloutStrategy `json:"rolloutStrategy,omitempty"`
	Resources       []resource                 `json:"resources,omitempty"`
	ValuesHash      string                     `json:"valuesHash,omitempty"`
	// TargetCustomizationMode is always written: the API server would set a missing one.
	TargetCustomizationMode string `json:"targetCustomizationMode"`
}

// content is the content of a Bundle: the part for all clusters, and one entry for each cluster.
type content struct {
	specification

	entries map[string]entry
}

// entry is what one cluster gets.
type entry struct {
	// options are Fleet's options as JSON.
	options map[string]any
	// values are the Helm values if they must not be readable in the Bundle. options["helm"] then
	// has no values.
	values map[string]any
	// digest is the digest of the deployment, or emptyDigest while the deployment is being removed.
	digest string
}

// labelsOf returns the labels of a Bundle: the bundle's own labels, and the marks.
func labelsOf(own map[string]string, m release.Mark, digest string) map[string]string {
	all := make(map[string]string, len(own)+6) // the marks
	maps.Copy(all, own)
	maps.Copy(all, map[string]string{
		labelOwner: m.Owner, labelTarget: m.Target, labelInstance: m.Instance, labelBundle: m.Bundle, labelDigest: digest,
	})
	if m.AdoptionKey != "" {
		all[labelAdoption] = m.AdoptionKey
	}
	return all
}

// markOf reads the marks of a Bundle or of a BundleDeployment.
func markOf(labels map[string]string) release.Mark {
	return release.Mark{
		Owner: labels[labelOwner], Target: labels[labelTarget], Instance: labels[labelInstance],
		Bundle: labels[labelBundle], AdoptionKey: labels[labelAdoption],
	}
}

const (
	// maxName is the maximum length of a label's value: Fleet uses the name of the Bundle as such a
	// value.
	maxName = 63
	// nameHash is the number of hexadecimal digits that distinguish the Bundles of targets.
	nameHash = 20
)

var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// nameOf returns the name of the Bundle for one bundle and target. The instance of a target is
// random, so two targets never share a Bundle. The instance stays the same when the target is
// renamed.
func nameOf(owner, instance, bundle string) string {
	sum := sha256.New()
	for _, part := range []string{"bundle name v1", owner, instance, bundle} {
		fmt.Fprintf(sum, "%d %s\n", len(part), part)
	}
	hash := hex.EncodeToString(sum.Sum(nil))[:nameHash]
	readable := bundle[:min(len(bundle), maxName-nameHash-1)]
	readable = strings.TrimRight(readable, "-.")
	if !dnsName.MatchString(readable) {
		readable = "bundle"
	}
	return readable + "-" + hash
}

// newSpecification translates the parts of a bundle that apply to all clusters. Dependencies are
// found by the labels of this provider: a dependency can be in another target of the same owner.
func newSpecification(b *bundle.Bundle, owner string) specification {
	made := specification{
		RolloutStrategy: b.Definition.RolloutStrategy, Resources: resourcesOf(b), TargetCustomizationMode: fleetyaml.FirstMatch,
	}
	for _, dependency := range b.Definition.DependsOn {
		if dependency.Name == "" && dependency.Selector == nil {
			continue // As Fleet does.
		}
		selector := fleetyaml.Selector{}
		if dependency.Selector != nil {
			selector = *dependency.Selector
		}
		own := map[string]string{}
		maps.Copy(own, selector.MatchLabels)
		own[labelOwner] = release.NewMark(owner, "", "", "", "").Owner
		if dependency.Name != "" {
			own[labelBundle] = release.NewMark("", "", "", dependency.Name, "").Bundle
		}
		selector.MatchLabels = own
		made.DependsOn = append(made.DependsOn, fleetyaml.Dependency{Selector: &selector, AcceptedStates: dependency.AcceptedStates})
	}
	return made
}

// checkSize returns an error if a Bundle is too large for the management cluster.
func checkSize(bundle string, spec map[string]any, deployments string) error {
	text, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("writing bundle %s as JSON: %w", bundle, err)
	}
	const object = "a Bundle of Fleet"
	return cmp.Or(
		checkLimit(bundle, "the files, compressed, and the options of all clusters", object, len(text), maxBundle),
		checkLimit(bundle, "the digests of all deployments", object, len(deployments), maxAnnotations),
	)
}

// digestOf returns the digest of a specification, as an API server returns it, and of the digests
// of the deployments.
func digestOf(spec map[string]any, deployments string) (string, error) {
	text, err := json.Marshal(spec) // Keys of maps are sorted.
	if err != nil {
		return "", fmt.Errorf("computing the digest of a Bundle: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "fleet bundle v1\n%d\n", len(text))
	sum.Write(text)
	sum.Write([]byte(deployments))
	return "v1-" + hex.EncodeToString(sum.Sum(nil))[:32], nil
}

// deploymentsText returns the value of annotationDeployments.
func deploymentsText(entries map[string]entry) string {
	digests := make(map[string]string, len(entries))
	for cluster, of := range entries {
		digests[cluster] = of.digest
	}
	text, _ := json.Marshal(digests) // Marshalling strings cannot fail.
	return string(text)
}

// deploymentDigest matches the digest of a deployment.
var deploymentDigest = regexp.MustCompile(`^v[0-9]{1,3}-[0-9a-f]{32}$`)

// deploymentsOf reads annotationDeployments. Another client can have written it, so unreadable text
// counts as empty, and invalid digests are left out. The deployments concerned then do not count as
// deployed as wanted.
func deploymentsOf(annotations map[string]string) map[string]string {
	digests := map[string]string{}
	if json.Unmarshal([]byte(annotations[annotationDeployments]), &digests) != nil {
		return nil
	}
	maps.DeleteFunc(digests, func(_, digest string) bool { return digest != emptyDigest && !deploymentDigest.MatchString(digest) })
	return digests
}

// asJSON returns a value in the form in which encoding/json reads it: maps, lists, texts and
// numbers.
func asJSON(value any) (map[string]any, error) {
	var read map[string]any
	err := convert(value, &read)
	return read, err
}

// child returns the map under a key of a map, nil if there is none.
func child(of map[string]any, key string) map[string]any {
	found, _ := of[key].(map[string]any)
	return found
}

// convert reads a value from the JSON of another one.
func convert(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	return nil
}
