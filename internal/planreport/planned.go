package planreport

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Input is a plan of one target.
type Input struct {
	Owner, Name string
	Operation   Operation
	// Unknown is why there is no plan yet, "" if there is a Plan.
	Unknown string
	Plan    *plan.Plan
	Prior   map[deploy.Key]deploy.Record
	Diff    preview.DiffReport
	// Clusters and Groups are the clusters and groups of the provider.
	Clusters []target.Cluster
	Groups   []target.Group
	Warnings []Warning
	// Sources are the commits of bundles. Those of other bundles than the target has are left out.
	Sources []Source
	// Shown returns a foreign text without secret values, and printable.
	Shown func(text string) string
}

// maxWarning is how many bytes of a warning are in a report.
const maxWarning = 64 << 10

// Planned returns the entry of a target.
func Planned(in Input) Target {
	made := Target{
		Owner: in.Owner, Name: in.Name, Operation: in.Operation, Unknown: in.Unknown, PlannedAt: time.Now().UTC().Truncate(time.Second),
		Diffs: map[string]string{}, Stages: []Stage{}, Warnings: []Warning{}, Sources: []Source{},
	}
	for _, warning := range in.Warnings {
		made.Warnings = append(made.Warnings, Warning{
			Summary: mask.WithoutMiddle(warning.Summary, maxWarning), Detail: mask.WithoutMiddle(warning.Detail, maxWarning),
		})
	}
	deployments := map[deploy.Key]*Deployment{}
	if in.Unknown != "" {
		for key, record := range in.Prior {
			deployments[key] = newDeployment(key, Unknown, record)
		}
	} else {
		deployments = in.deployments()
		made.Stages = in.stages(deployments)
		made.addDiffs(in.Diff, deployments)
		in.Plan.Unknown.Each(func(cause string, of []string) { addNote(deployments, of, cause) })
	}
	made.addDeployments(deployments)
	made.addSources(in)
	made.Clusters = clustersOf(made.Deployments, in.Clusters, in.Groups)
	made.edit(func(name string) string { return name }, in.Shown)
	return made
}

func (t *Target) addDeployments(deployments map[deploy.Key]*Deployment) {
	bundles := map[string]bool{}
	t.Deployments = make([]Deployment, 0, len(deployments))
	for _, key := range slices.SortedFunc(maps.Keys(deployments), deploy.Key.Compare) {
		t.Deployments = append(t.Deployments, *deployments[key])
		t.Summary.count(deployments[key].Action)
		if deployments[key].TakenOver {
			t.Summary.TakenOver++
		}
		bundles[key.Bundle] = true
	}
	t.Bundles = orEmpty(slices.Sorted(maps.Keys(bundles)))
}

// maxSubject is how many bytes of the subject of a commit, and of its author, are in a report.
const maxSubject = 200

// addSources adds the sources of the bundles of the target, in the order of Bundles.
func (t *Target) addSources(in Input) {
	for _, s := range in.Sources {
		if !slices.Contains(t.Bundles, s.Bundle) {
			continue
		}
		s.Subject, s.Author = mask.WithoutMiddle(in.Shown(s.Subject), maxSubject), mask.WithoutMiddle(in.Shown(s.Author), maxSubject)
		t.Sources = append(t.Sources, s)
	}
	slices.SortStableFunc(t.Sources, func(a, b Source) int { return strings.Compare(a.Bundle, b.Bundle) })
}

func (s *Summary) count(action Action) {
	switch action {
	case Add:
		s.Add++
	case Change:
		s.Change++
	case Remove:
		s.Remove++
	case Keep:
		s.Keep++
	case Held:
		s.Held++
	case Unknown:
		s.Unknown++
	}
}

// deployments returns the deployments of a plan.
func (in *Input) deployments() map[deploy.Key]*Deployment {
	deployments := map[deploy.Key]*Deployment{}
	for _, d := range in.Plan.Write {
		key := deploy.KeyOf(d)
		deployments[key] = in.written(d)
	}
	for key := range in.Plan.Keep {
		deployments[key] = newDeployment(key, Keep, in.Prior[key])
	}
	for _, failure := range in.Plan.Held {
		key := deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}
		deployments[key] = newDeployment(key, Held, in.Prior[key])
		deployments[key].Reason = reasonOf(failure.Err)
	}
	for _, key := range in.Plan.Remove {
		deployments[key] = in.removed(key)
	}
	for _, cluster := range in.Plan.Unreachable {
		for key := range in.Prior {
			if key.Cluster == cluster && deployments[key] == nil {
				deployments[key] = in.removed(key)
				deployments[key].Notes = []string{"it is removed from the state and stays on the cluster, which cannot be reached"}
			}
		}
	}
	return deployments
}

// reasonOf returns why a deployment is held.
func reasonOf(err error) string {
	if held, ok := errors.AsType[*rollout.HeldError](err); ok {
		return held.Reason
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func newDeployment(key deploy.Key, action Action, prior deploy.Record) *Deployment {
	return &Deployment{
		Cluster: key.Cluster, Bundle: key.Bundle, Action: action, Namespace: prior.Namespace, Release: prior.Release,
		Chart: prior.Chart, Version: prior.Version, DigestBefore: prior.Digest, Unchanged: len(prior.Objects),
	}
}

// removed returns a deployment whose objects are removed.
func (in *Input) removed(key deploy.Key) *Deployment {
	d := newDeployment(key, Remove, in.Prior[key])
	d.Objects, d.Unchanged = objectChanges(in.Prior[key].Objects, nil)
	return d
}

// written returns a deployment that is installed or upgraded.
func (in *Input) written(wanted target.Deployment) *Deployment {
	key := deploy.KeyOf(wanted)
	prior, had := in.Prior[key]
	d := newDeployment(key, Change, prior)
	if !had {
		d.Action = Add
	}
	existing, takenOver := in.Diff.TakenOver[key]
	if takenOver {
		d.Action, d.TakenOver = Change, true
	}
	rendering := in.Plan.Renderings[key]
	d.Namespace = wanted.Namespace
	d.Release = wanted.Release
	d.Chart = rendering.Chart
	d.Version = rendering.Version
	if !wanted.Unpinned {
		d.DigestAfter = wanted.Digest
	}
	after, known := in.Plan.Objects[key]
	switch {
	case !known:
		d.ObjectsUnknown, d.Unchanged = true, 0
	case takenOver && !had && existing == nil:
		d.Objects, d.Unchanged = objectsWithoutPrior(after), 0
	case takenOver && !had:
		d.Objects, d.Unchanged = objectsTakenOver(existing, after)
	case had && len(prior.Objects) == 0 && len(after) > 0:
		// The state has no objects, for example with plan_objects = false.
		d.Objects, d.Unchanged = objectsWithoutPrior(after), 0
	default:
		d.Objects, d.Unchanged = objectChanges(prior.Objects, after)
	}
	return d
}

// objectChanges compares the hashes of objects. A hash of "" is unknown.
func objectChanges(before, after map[string]string) (changes []Object, unchanged int) {
	keys := map[string]string{}
	maps.Copy(keys, before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, had := before[key]
		is, has := after[key]
		switch {
		case !has:
			changes = append(changes, Object{Key: key, Change: ObjectRemoved, Before: was})
		case !had:
			changes = append(changes, Object{Key: key, Change: ObjectAdded, After: is})
		case is == "":
			changes = append(changes, Object{Key: key, Change: ObjectUnknown, Before: was})
		case was != is:
			changes = append(changes, Object{Key: key, Change: ObjectChanged, Before: was, After: is})
		default:
			unchanged++
		}
	}
	return changes, unchanged
}

// objectsTakenOver returns what happens to the objects of a deployment that is taken over. existing
// are those that exist, true if they change.
func objectsTakenOver(existing map[string]bool, after map[string]string) (changes []Object, unchanged int) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		changed, exists := existing[key]
		switch {
		case !exists:
			changes = append(changes, Object{Key: key, Change: ObjectAdded, After: after[key]})
		case changed:
			changes = append(changes, Object{Key: key, Change: ObjectChanged, After: after[key]})
		default:
			unchanged++
		}
	}
	return changes, unchanged
}

// objectsWithoutPrior returns objects of which it is not known whether they change.
func objectsWithoutPrior(after map[string]string) []Object {
	var changes []Object
	for _, key := range slices.Sorted(maps.Keys(after)) {
		changes = append(changes, Object{Key: key, Change: ObjectUnknown, After: after[key]})
	}
	return changes
}

// stages returns the deployments that start together. It also sets the stage of each deployment.
func (in *Input) stages(deployments map[deploy.Key]*Deployment) []Stage {
	written := map[deploy.Key]bool{}
	for _, d := range in.Plan.Write {
		written[deploy.KeyOf(d)] = true
	}
	stages := []Stage{}
	for _, stage := range in.Plan.Order {
		names := []string{}
		byKey := func(a, b target.Deployment) int { return deploy.KeyOf(a).Compare(deploy.KeyOf(b)) }
		for _, starting := range slices.SortedFunc(slices.Values(stage.Deployments), byKey) {
			key := deploy.KeyOf(starting)
			if !written[key] {
				continue
			}
			names = append(names, key.String())
			if d := deployments[key]; d != nil {
				d.Stage = len(stages) + 1
			}
		}
		stages = append(stages, Stage{Text: stage.Text, Deployments: names})
	}
	return stages
}

// addDiffs adds the texts of changes. Equal texts are added once.
func (t *Target) addDiffs(found preview.DiffReport, deployments map[deploy.Key]*Deployment) {
	for _, of := range found.Diffs {
		d := deployments[deploy.Key{Cluster: of.Cluster, Bundle: of.Bundle}]
		if d == nil {
			continue
		}
		notes, text := of.Parts()
		d.Notes = append(d.Notes, notes...)
		if text == "" || d.Action == Add { // The diff of a new release is just its objects.
			continue
		}
		d.Diff = idOf(text)
		t.Diffs[d.Diff] = text
	}
	found.NotCompared.Each(func(cause string, of []string) { addNote(deployments, of, "not compared: "+cause) })
}

func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// addNote adds a note to deployments, once. names are the keys of deployments, or clusters.
func addNote(deployments map[deploy.Key]*Deployment, names []string, note string) {
	noted := map[string]bool{}
	for _, name := range names {
		noted[name] = true
	}
	for key, d := range deployments {
		if (noted[key.String()] || noted[key.Cluster] && d.Action == Change) && !slices.Contains(d.Notes, note) {
			d.Notes = append(d.Notes, note)
		}
	}
}

// clustersOf returns the clusters of deployments. A cluster that the provider no longer has is
// without labels and groups.
func clustersOf(deployments []Deployment, known []target.Cluster, groups []target.Group) []Cluster {
	facts := map[string]target.Cluster{}
	for _, cluster := range known {
		facts[cluster.Name] = cluster
	}
	members := map[string][]string{}
	for _, group := range slices.SortedFunc(slices.Values(groups), func(a, b target.Group) int { return strings.Compare(a.Name, b.Name) }) {
		matched, err := target.Match([]target.Rule{{ClusterGroup: group.Name}}, known, groups)
		if err != nil {
			continue // The target has reported the error.
		}
		for _, cluster := range matched {
			members[cluster.Name] = append(members[cluster.Name], group.Name)
		}
	}
	clusters := []Cluster{}
	for _, d := range deployments {
		if len(clusters) > 0 && clusters[len(clusters)-1].Name == d.Cluster {
			continue
		}
		cluster := Cluster{Name: d.Cluster, Labels: map[string]string{}, Groups: []string{}}
		maps.Copy(cluster.Labels, facts[d.Cluster].Labels)
		cluster.Groups = append(cluster.Groups, members[d.Cluster]...)
		clusters = append(clusters, cluster)
	}
	return clusters
}
