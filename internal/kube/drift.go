package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Inspect reads the live objects of all releases together and returns a finding for each release.
// wanted contains the objects of the manifests. Objects of a kind that the identity may not read
// are only counted. Any other failure is an error of each release with such an object.
func (c *Client) Inspect(ctx context.Context, releases []release.Inspection, wanted [][]*unstructured.Unstructured) []release.Finding {
	inspected := make([]wantedRelease, len(releases))
	for i, of := range releases {
		inspected[i] = wantedRelease{namespace: of.Observed.Namespace, objects: wanted[i]}
	}
	findings := make([]release.Finding, len(releases))
	for i, live := range readReleases(ctx, c, inspected) {
		if findings[i].Err = live.err; live.err == nil {
			findings[i] = findingOf(releases[i], live)
		}
	}
	return findings
}

// wantedRelease contains the objects that a release is to have in its namespace. err is why they are
// not known.
type wantedRelease struct {
	namespace string
	objects   []*unstructured.Unstructured
	err       error
}

// liveRelease contains the objects of a release and what was read of each. err is why nothing was
// read.
type liveRelease struct {
	parts []manifestObject
	seen  map[*resource.Info]readResult
	err   error
}

// readReleases reads the live objects of all releases together.
func readReleases(ctx context.Context, c *Client, wanted []wantedRelease) []liveRelease {
	live := make([]liveRelease, len(wanted))
	var objects []*resource.Info
	for i, of := range wanted {
		live[i].err = of.err
		if of.err == nil {
			live[i].parts, live[i].err = c.parts(ctx, of.namespace, of.objects)
		}
		if live[i].err != nil {
			continue
		}
		for _, p := range live[i].parts {
			if p.info.Mapping.Resource.Resource != "" {
				objects = append(objects, p.info)
			}
		}
	}
	seen := c.reader.read(ctx, objects, completeObjects)
	for i := range live {
		live[i].seen = seen
	}
	return live
}

// manifestObject is one object of a manifest.
type manifestObject struct {
	wanted *unstructured.Unstructured
	// info identifies the live object. Its mapping has no resource if the cluster does not have the
	// kind.
	info *resource.Info
}

// parts returns the objects of a manifest, each once, with the namespace that each is in.
func (c *Client) parts(ctx context.Context, namespace string, objects []*unstructured.Unstructured) ([]manifestObject, error) {
	found := make([]manifestObject, 0, len(objects))
	known := map[string]bool{}
	for _, wanted := range objects {
		if wanted.GetName() == "" {
			continue // The cluster generated its name, which the manifest does not contain.
		}
		info, err := c.infoOf(ctx, wanted, namespace)
		if err != nil {
			return nil, err
		}
		key := info.Mapping.GroupVersionKind.GroupKind().String() + " " + info.Namespace + "/" + info.Name
		if known[key] {
			continue
		}
		known[key] = true
		wanted = withOwnMetadata(wanted)
		wanted.SetNamespace(info.Namespace)
		found = append(found, manifestObject{wanted: wanted, info: info})
	}
	return found, nil
}

// withOwnMetadata returns an object that has its own metadata, and shares all other fields.
func withOwnMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(object.Object)
	metadata, _ := content["metadata"].(map[string]any)
	content["metadata"] = maps.Clone(metadata)
	return &unstructured.Unstructured{Object: content}
}

func (c *Client) infoOf(ctx context.Context, wanted *unstructured.Unstructured, namespace string) (*resource.Info, error) {
	kind := wanted.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		if err := confirmUnknownKind(c, kind); err != nil {
			return nil, err
		}
		mapping, err = &meta.RESTMapping{GroupVersionKind: kind, Scope: meta.RESTScopeNamespace}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up the kind %s: %w", kind.Kind, err)
	}
	info := &resource.Info{Mapping: mapping, Name: wanted.GetName()}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		info.Namespace = wanted.GetNamespace()
		if info.Namespace == "" {
			info.Namespace = namespace
		}
	}
	return info, ctx.Err()
}

// confirmUnknownKind fails unless the API server reports that it has no such kind. A kind that
// discovery lacks may exist, because discovery leaves out what it could not read.
func confirmUnknownKind(c *Client, kind schema.GroupVersionKind) error {
	list, err := c.typed.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking up the kind %s: %w", kind.Kind, err)
	}
	for _, resource := range list.APIResources {
		if resource.Kind == kind.Kind {
			return fmt.Errorf("looking up the kind %s: it was added just now", kind.Kind)
		}
	}
	return nil
}

// Lacks returns the kinds that the cluster does not serve, and the namespaces that it does not have. It
// reads discovery if no other caller has read it before, and then confirms each missing kind. A
// namespace that the identity may not read counts as existing.
func (c *Client) Lacks(ctx context.Context, needs release.Needs) (lacks release.Needs, err error) {
	for _, of := range needs.Kinds {
		kind := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
		_, _, err := c.mapper.lookUp(kind.GroupKind(), kind.Version)
		if err == nil {
			continue
		}
		if !meta.IsNoMatchError(err) {
			return release.Needs{}, fmt.Errorf("looking up the kind %s: %w", kind.Kind, err)
		}
		if err := confirmUnknownKind(c, kind); err != nil {
			return release.Needs{}, err
		}
		lacks.Kinds = append(lacks.Kinds, of)
	}
	for _, name := range needs.Namespaces {
		_, err := c.typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lacks.Namespaces = append(lacks.Namespaces, name)
			continue
		}
		if err != nil && !connect.IsDenied(err) {
			break // The others would probably fail, too. What was found counts.
		}
	}
	return lacks, nil
}

// findingOf compares the objects of one release.
func findingOf(of release.Inspection, live liveRelease) release.Finding {
	found, err := newComparer(of, live.parts)
	if err != nil {
		return release.Finding{Err: err}
	}
	var finding release.Finding
	for _, p := range live.parts {
		if err := found.compare(&finding, p, live.seen[p.info]); err != nil {
			return release.Finding{Err: err}
		}
	}
	return finding
}

// comparer compares the objects of one release with their manifest.
type comparer struct {
	of       release.Inspection
	compiled rules
	scaled   replicaBounds
}

// newComparer adds Helm's annotations to the objects, which the manifest in a record lacks.
func newComparer(of release.Inspection, parts []manifestObject) (comparer, error) {
	for _, p := range parts {
		setOwner(p.wanted, of.Observed)
	}
	compiled, err := compileRules(of.Rules)
	return comparer{of: of, compiled: compiled, scaled: scalers(parts)}, err
}

// compare adds the result of reading one object to the finding.
func (c comparer) compare(finding *release.Finding, p manifestObject, got readResult) error {
	name := describe(p.info)
	switch {
	case apierrors.IsForbidden(got.err):
		if finding.Refused == nil {
			finding.Refused = map[string]int{}
		}
		finding.Refused[p.info.Mapping.GroupVersionKind.Kind]++
	case got.err != nil:
		return got.err
	case got.object == nil:
		if !c.compiled.ignoresMissing(p.wanted) && !isTemporary(p) {
			finding.Missing = append(finding.Missing, name)
		}
	case owningRelease(got.object, c.of.Observed) != "":
		finding.NotOwned = append(finding.NotOwned, release.OwnedObject{Object: name, Owner: owningRelease(got.object, c.of.Observed)})
	default:
		return c.compareExisting(finding, p, got.object)
	}
	return nil
}

// isTemporary reports whether an object is a Job that the cluster deletes after its end.
func isTemporary(p manifestObject) bool {
	_, expires, err := unstructured.NestedFieldNoCopy(p.wanted.Object, "spec", "ttlSecondsAfterFinished")
	return isJob(p.info) && expires && err == nil
}

// compareExisting adds one existing object to the finding.
func (c comparer) compareExisting(finding *release.Finding, p manifestObject, live *unstructured.Unstructured) error {
	name := describe(p.info)
	wanted, err := c.compiled.normalize(c.scaled.withoutReplicas(p.wanted, live))
	if err != nil {
		return err
	}
	compared, err := c.compiled.normalize(live)
	if err != nil {
		return err
	}
	modified := slices.DeleteFunc(differences(wanted, compared), func(d release.Difference) bool { return isAccepted(c.of.Accepted, name, d) })
	if len(modified) > 0 {
		finding.Modified = append(finding.Modified, release.Modification{Object: name, Differences: modified})
		return nil
	}
	if isJob(p.info) {
		finding.Ready++ // A job runs once, and its progress does not count for the release.
		return nil
	}
	condition, ready, err := conditionOf(p.info, withoutIgnored(live, c.compiled.ignore))
	if err != nil {
		return err
	}
	if !ready {
		finding.NotReady = append(finding.NotReady, condition.unready())
		return nil
	}
	finding.Ready++
	return nil
}

// isAccepted reports whether the cluster made a difference itself when the object was written.
func isAccepted(accepted map[string]string, object string, of release.Difference) bool {
	known, ok := accepted[release.DifferenceKey(object, of.Path)]
	return ok && known == of.Fingerprint
}

// setOwner sets the annotations that Helm writes on each object of a release.
func setOwner(wanted *unstructured.Unstructured, of release.Observed) {
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[wellknown.ReleaseName], annotations[wellknown.ReleaseNamespace] = of.Release, of.Namespace
	wanted.SetAnnotations(annotations)
}

// owningRelease returns the other release that owns an object, "" if there is none. An object that
// names no release belongs to this one, because the manifest contains it.
func owningRelease(live *unstructured.Unstructured, observed release.Observed) string {
	annotations := live.GetAnnotations()
	own := release.Key(observed.Namespace, observed.Release)
	return release.OtherRelease(own, annotations[wellknown.ReleaseNamespace], annotations[wellknown.ReleaseName])
}

// replicaBounds are the limits that the autoscalers of a release set for the replicas of workloads.
type replicaBounds map[workload]bounds

type workload struct{ group, kind, namespace, name string }

type bounds struct{ least, most float64 }

// scalers reads the autoscalers of a manifest.
func scalers(parts []manifestObject) replicaBounds {
	found := replicaBounds{}
	for _, p := range parts {
		kind := p.wanted.GroupVersionKind()
		if kind.Group != "autoscaling" || kind.Kind != "HorizontalPodAutoscaler" {
			continue
		}
		spec, _ := p.wanted.Object["spec"].(map[string]any)
		reference, _ := spec["scaleTargetRef"].(map[string]any)
		version, _ := reference["apiVersion"].(string)
		parsed, err := schema.ParseGroupVersion(version)
		most, hasMost := numberOf(spec["maxReplicas"])
		if err != nil || !hasMost {
			continue
		}
		least, given := numberOf(spec["minReplicas"])
		if !given {
			least = 1
		}
		targetKind, _ := reference["kind"].(string)
		name, _ := reference["name"].(string)
		found[workload{parsed.Group, targetKind, p.info.Namespace, name}] = bounds{least, most}
	}
	return found
}

// withoutReplicas returns a workload without its number of replicas if an autoscaler of the same
// release scales it. The live number must be within the limits of the autoscaler.
func (r replicaBounds) withoutReplicas(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	kind := wanted.GroupVersionKind()
	limits, scaled := r[workload{kind.Group, kind.Kind, wanted.GetNamespace(), wanted.GetName()}]
	if !scaled {
		return wanted
	}
	spec, _ := live.Object["spec"].(map[string]any)
	replicas, ok := numberOf(spec["replicas"])
	if !ok || replicas < limits.least || replicas > limits.most {
		return wanted
	}
	changed := wanted.DeepCopy()
	unstructured.RemoveNestedField(changed.Object, "spec", "replicas")
	return changed
}
