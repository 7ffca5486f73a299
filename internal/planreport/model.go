// Package planreport makes a report of a plan, for people and for policies: as JSON, as an HTML
// file, or as Markdown. It reads plain values and writes files.
package planreport

import (
	"cmp"
	"slices"
	"time"
)

// Format is the version of the JSON. A reader must refuse other versions.
const Format = 1

// Report is what the JSON contains.
type Report struct {
	Format  int      `json:"format"`
	Targets []Target `json:"targets"`
}

// Operation is what happens to a target.
type Operation string

// The operations.
const (
	Create  Operation = "create"
	Update  Operation = "update"
	Destroy Operation = "destroy"
)

// Target is what is planned for one fleet_cluster_target.
type Target struct {
	Owner     string    `json:"owner"`
	Name      string    `json:"name"`
	Operation Operation `json:"operation"`
	PlannedAt time.Time `json:"planned_at"`
	// Run is the same for all entries that one run of Terraform wrote.
	Run string `json:"run"`
	// Unknown is why nothing is known before the apply, "" if something is known.
	Unknown  string    `json:"unknown,omitempty"`
	Summary  Summary   `json:"summary"`
	Clusters []Cluster `json:"clusters"`
	Bundles  []string  `json:"bundles"`
	// Sources are the commits of the bundles that are from git.
	Sources     []Source     `json:"sources"`
	Deployments []Deployment `json:"deployments"`
	Stages      []Stage      `json:"stages"`
	Warnings    []Warning    `json:"warnings"`
	// Diffs are the texts of changes, by the ids in Deployment.Diff.
	Diffs map[string]string `json:"diffs"`
}

// Source is where a bundle is from. CommitBefore is the commit that it was made from at the last
// apply, and CommitAfter that of the plan. Both are "" if they are not known. The bundle keeps its
// commit until its content changes.
type Source struct {
	Bundle       string `json:"bundle"`
	Repository   string `json:"repository"`
	CommitBefore string `json:"commit_before,omitempty"`
	CommitAfter  string `json:"commit_after,omitempty"`
	// Subject and Author describe CommitAfter, if this run has fetched it.
	Subject string `json:"subject,omitempty"`
	Author  string `json:"author,omitempty"`
}

// Summary counts deployments by their actions.
type Summary struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Remove  int `json:"remove"`
	Keep    int `json:"keep"`
	Held    int `json:"held"`
	Unknown int `json:"unknown"`
	// TakenOver is how many of the changed deployments take something over from another owner.
	TakenOver int `json:"taken_over,omitempty"`
}

// Cluster is a cluster of a target.
type Cluster struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Groups []string          `json:"groups"`
}

// Action is what happens to a deployment.
type Action string

// The actions.
const (
	Add     Action = "add"
	Change  Action = "change"
	Remove  Action = "remove"
	Keep    Action = "keep"
	Held    Action = "held"
	Unknown Action = "unknown"
)

// Deployment is one bundle on one cluster.
type Deployment struct {
	Cluster string `json:"cluster"`
	Bundle  string `json:"bundle"`
	Action  Action `json:"action"`
	// TakenOver is true if the deployment takes a release or objects over from another owner.
	TakenOver bool   `json:"taken_over,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Release   string `json:"release,omitempty"`
	Chart     string `json:"chart,omitempty"`
	Version   string `json:"version,omitempty"`
	// The digests cover what is deployed. A digest that is not known before the apply is "".
	DigestBefore string `json:"digest_before,omitempty"`
	DigestAfter  string `json:"digest_after,omitempty"`
	// Stage is the number of the stage that writes the deployment, from 1.
	Stage int `json:"stage,omitempty"`
	// Reason is why a deployment is held.
	Reason string `json:"reason,omitempty"`
	// ObjectsUnknown is true if the objects are known only after the apply.
	ObjectsUnknown bool `json:"objects_unknown,omitempty"`
	// Objects are the objects that change, and Unchanged is the number of the others.
	Objects   []Object `json:"objects,omitempty"`
	Unchanged int      `json:"unchanged,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// Diff is the id of a text in Diffs of the target.
	Diff string `json:"diff,omitempty"`
}

// ObjectChange is what happens to an object.
type ObjectChange string

// The changes. ObjectUnknown is for an object of which it is known only after the apply whether it
// changes.
const (
	ObjectAdded   ObjectChange = "added"
	ObjectChanged ObjectChange = "changed"
	ObjectRemoved ObjectChange = "removed"
	ObjectUnknown ObjectChange = "unknown"
)

// Object is an object of a deployment. A hash is "" if there is no object, or if the hash is not
// known.
type Object struct {
	Key    string       `json:"key"`
	Change ObjectChange `json:"change"`
	Before string       `json:"before,omitempty"`
	After  string       `json:"after,omitempty"`
}

// Stage is a set of deployments that start together.
type Stage struct {
	Text        string   `json:"text"`
	Deployments []string `json:"deployments"`
}

// Warning is a warning of the plan.
type Warning struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail"`
}

// newReport returns a report with its entries in a stable order.
func newReport(targets []Target) Report {
	sorted := slices.SortedFunc(slices.Values(targets), func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owner, b.Owner))
	})
	return Report{Format: Format, Targets: sorted}
}

// key identifies an entry: targets of two owners can have the same name.
type key struct{ owner, name string }

func (t *Target) key() key { return key{t.Owner, t.Name} }

// edit replaces all texts of an entry that are not the provider's own. name is for texts of one
// line, and text for the others.
func (t *Target) edit(name, text func(string) string) {
	t.Owner = name(t.Owner)
	t.Name = name(t.Name)
	t.Run = name(t.Run)
	t.Operation, t.Unknown = Operation(name(string(t.Operation))), text(t.Unknown)
	for i := range t.Clusters {
		t.Clusters[i].edit(name, text)
	}
	editAll(t.Bundles, name)
	for i, s := range t.Sources {
		t.Sources[i] = Source{
			Bundle: name(s.Bundle), Repository: name(text(s.Repository)), CommitBefore: name(s.CommitBefore), CommitAfter: name(s.CommitAfter),
			Subject: name(text(s.Subject)), Author: name(text(s.Author)),
		}
	}
	for i := range t.Deployments {
		t.Deployments[i].edit(name, text)
	}
	for i := range t.Stages {
		t.Stages[i].Text = text(t.Stages[i].Text)
		editAll(t.Stages[i].Deployments, name)
	}
	for i, warning := range t.Warnings {
		t.Warnings[i] = Warning{Summary: text(warning.Summary), Detail: text(warning.Detail)}
	}
	diffs := make(map[string]string, len(t.Diffs))
	for id, diff := range t.Diffs {
		diffs[name(id)] = text(diff)
	}
	t.Diffs = diffs
}

func (c *Cluster) edit(name, text func(string) string) {
	c.Name = name(c.Name)
	editAll(c.Groups, name)
	labels := make(map[string]string, len(c.Labels))
	for key, value := range c.Labels {
		labels[name(key)] = name(text(value))
	}
	c.Labels = labels
}

func (d *Deployment) edit(name, text func(string) string) {
	for _, field := range []*string{
		&d.Cluster, &d.Bundle, &d.Namespace, &d.Release, &d.Chart, &d.Version, &d.DigestBefore, &d.DigestAfter, &d.Diff, (*string)(&d.Action),
	} {
		*field = name(*field)
	}
	d.Reason = text(d.Reason)
	for i, object := range d.Objects {
		d.Objects[i] = Object{
			Key: name(object.Key), Change: ObjectChange(name(string(object.Change))), Before: name(object.Before), After: name(object.After),
		}
	}
	editAll(d.Notes, text)
}

func editAll(texts []string, edit func(string) string) {
	for i, text := range texts {
		texts[i] = edit(text)
	}
}
