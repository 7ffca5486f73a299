package planreport

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page has equal texts, objects and lists once, and reading the page returns them for each deployment.
func TestPageHasEverythingOnce(t *testing.T) {
	t.Parallel()
	objects := []Object{{Key: "ConfigMap/shop/web", Change: ObjectChanged, Before: "b", After: "a"}, {Key: "Service/shop/web", Change: ObjectRemoved, Before: "c"}}
	deployments := []Deployment{
		{Cluster: "a", Bundle: "web", Action: Change, Chart: "chart-of-web", Stage: 1, Objects: objects, Diff: "d1", Notes: []string{"it is compared"}},
		{Cluster: "b", Bundle: "web", Action: Change, Chart: "chart-of-web", Stage: 2, Objects: objects, Diff: "d2", Notes: []string{"it is compared"}},
		{Cluster: "c", Bundle: "web", Action: Add, Stage: 2, Objects: []Object{{Key: "ConfigMap/shop/web", Change: ObjectAdded, After: "a"}}},
		{Cluster: "d", Bundle: "web", Action: Held, Reason: "it is paused"},
		{Cluster: "e", Bundle: "web", Action: Held, Reason: "it is paused"},
	}
	written := newReport([]Target{{
		Owner: "o", Name: "prod", Deployments: deployments, Bundles: []string{"web"}, Warnings: []Warning{{Summary: "s", Detail: "d"}},
		Clusters: []Cluster{{Name: "a", Labels: map[string]string{"label-of-all": "eu"}, Groups: []string{"all"}}, {Name: "b", Labels: map[string]string{"label-of-all": "us"}}},
		Stages:   []Stage{{Text: "first", Deployments: []string{"a/web"}}, {Text: "then", Deployments: []string{"b/web", "c/web"}}},
		Diffs:    map[string]string{"d1": "- replicas: 3\n+ replicas: 5\n", "d2": "- replicas: 3\n+ replicas: 7\n"},
	}})
	written.Targets[0].fill()
	page, err := renderHTML(written)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"ConfigMap/shop/web", "- replicas: 3", "it is paused", "it is compared", "chart-of-web", "label-of-all"} {
		if number := strings.Count(string(page), text); number != 1 {
			t.Errorf("the page has %q %d times, want once", text, number)
		}
	}
	read, err := parseHTML(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("the report (-written +read):\n%s", diff)
	}
	read.Targets[0].Deployments[0].Objects[0].Key = "other"
	if got := read.Targets[0].Deployments[1].Objects[0].Key; got != "ConfigMap/shop/web" {
		t.Errorf("two deployments share a list: %s", got)
	}
}

// The diff of an upgrade can leave out objects that are removed or added.
func TestTextOfAChange(t *testing.T) {
	t.Parallel()
	objects := []Object{
		{Key: "ConfigMap/shop/web", Change: ObjectChanged},
		{Key: "PersistentVolumeClaim/shop/data", Change: ObjectRemoved},
		{Key: "PersistentVolumeClaim/shop/data-1", Change: ObjectRemoved},
		{Key: "Service/shop/web", Change: ObjectAdded},
		{Key: "Secret/shop/web", Change: ObjectUnknown},
	}
	const all = "~ ConfigMap/shop/web\n- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n+ Service/shop/web\n? Secret/shop/web"
	for name, test := range map[string]struct {
		action     Action
		diff, want string
	}{
		"no diff": {Change, "", all},
		"a diff of what changes": {
			Change, "~ ConfigMap/shop/web: data\n- a: b\n+ a: c",
			"- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n\n~ ConfigMap/shop/web: data\n- a: b\n+ a: c\n\n+ Service/shop/web",
		},
		"an object that stays": {
			Change, "= PersistentVolumeClaim/shop/data-1, stays on the cluster (x: keep)",
			"- PersistentVolumeClaim/shop/data\n\n= PersistentVolumeClaim/shop/data-1, stays on the cluster (x: keep)\n\n+ Service/shop/web",
		},
		"a line of a manifest that looks like one that stays": {
			Change, "+ = PersistentVolumeClaim/shop/data, stays on the cluster",
			"- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n\n+ = PersistentVolumeClaim/shop/data, stays on the cluster\n\n+ Service/shop/web",
		},
		"a removal": {Remove, "- ConfigMap/shop/web", "- ConfigMap/shop/web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Deployment{Action: test.action, Objects: objects}
			if diff := cmp.Diff(test.want, d.text(test.diff)); diff != "" {
				t.Errorf("the text (-want +got):\n%s", diff)
			}
		})
	}
}

// unequal returns a target in which no object and no line of a diff is equal to another one.
func unequal(name string, action Action, deployments, objects int) Target {
	made := Target{Owner: "o", Name: name, Operation: Create, Diffs: map[string]string{}}
	for i := range deployments {
		d := Deployment{Cluster: fmt.Sprintf("%s-%04d", name, i), Bundle: "web", Action: action, Diff: fmt.Sprintf("%s-%d", name, i)}
		for o := range objects {
			d.Objects = append(d.Objects, Object{Key: fmt.Sprintf("ConfigMap/%s/web-%d", d.Cluster, o), Change: ObjectChanged, Before: fmt.Sprintf("b-%s-%d", d.Cluster, o), After: fmt.Sprintf("a-%s-%d", d.Cluster, o)})
		}
		made.Diffs[d.Diff] = strings.Repeat(d.Cluster, 50)
		made.Deployments = append(made.Deployments, d)
	}
	made.fill()
	return made
}

// Details that do not fit into a page are left out and counted. What removes objects is left out last,
// then what is taken over. Nothing of a warning, of names and of actions is left out.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	of := unequal("prod", Change, 1500, 12)
	last := of.Deployments[len(of.Deployments)-3:]
	last[0].Objects[3] = Object{Key: "PersistentVolumeClaim/shop/data", Change: ObjectRemoved, Before: "c"}
	last[1].TakenOver = true
	last[2].Action = Remove
	of.Deployments[0].Action = Add
	of.Warnings = []Warning{{Summary: "large", Detail: strings.Repeat("detail ", 9000)}}
	page, err := renderHTML(newReport([]Target{of}))
	if err != nil {
		t.Fatal(err)
	}
	if size := len(page); size < maxDetails || size > 1<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	read, err := parseHTML(page)
	if err != nil {
		t.Fatal(err)
	}
	got := read.Targets[0]
	leftOut := 0
	for i, d := range got.Deployments {
		want := of.Deployments[i]
		if d.LeftOut != nil {
			leftOut++
			if diff := cmp.Diff(ObjectCounts{Changed: 12}, *d.LeftOut); diff != "" {
				t.Errorf("%s: numbers of objects (-want +got):\n%s", d.Cluster, diff)
			}
			want.LeftOut, want.Objects, want.Diff = d.LeftOut, nil, ""
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("the deployment (-want +got):\n%s", diff)
		}
		if (d.Diff != "") != (got.Diffs[d.Diff] != "") {
			t.Errorf("%s: no text of the diff %q", d.Cluster, d.Diff)
		}
	}
	if leftOut < 500 || leftOut > 1400 || got.Deployments[0].LeftOut == nil {
		t.Errorf("the details of %d deployments are left out, of the added one: %v", leftOut, got.Deployments[0].LeftOut)
	}
	if slices.ContainsFunc(got.Deployments[len(got.Deployments)-3:], func(d Deployment) bool { return d.LeftOut != nil }) {
		t.Error("details of a removal or of a take-over are left out")
	}
	if diff := cmp.Diff(of.Warnings, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	// The next process of the same run gets the page, and writes it again.
	if !got.isRepeatedBy(&of) {
		t.Error("the plan in the page is not the same plan")
	}
	of.Deployments[5].DigestAfter = "v1-other"
	if got.isRepeatedBy(&of) {
		t.Error("another plan is the same plan")
	}
	again, err := renderHTML(newReport([]Target{got, unequal("staging", Change, 10, 1)}))
	if err != nil {
		t.Fatal(err)
	}
	if read, err = parseHTML(again); err != nil {
		t.Fatal(err)
	}
	for i, d := range read.Targets[0].Deployments {
		if got.Deployments[i].LeftOut != nil && cmp.Diff(got.Deployments[i], d) != "" {
			t.Fatalf("after a second process (-first +second):\n%s", cmp.Diff(got.Deployments[i], d))
		}
	}
}

// A program writes a small page whose deployments have very many objects or very long texts together, or
// numbers of nothing: the page is no report.
func TestAttackPackedPage(t *testing.T) {
	t.Parallel()
	shared := func(number int, with packedDeployment) []packedDeployment {
		return slices.Repeat([]packedDeployment{with}, number)
	}
	page := func(deployments ...packedDeployment) packed {
		return packed{
			Format: Format, Texts: []string{"", strings.Repeat("x", 1<<20)}, Objects: [][4]int{{}}, Lists: [][]int{make([]int, 10_000), {7}},
			Targets: []packedTarget{{Target: Target{Owner: "o", Name: "prod"}, Deployments: deployments}},
		}
	}
	for name, of := range map[string]packed{
		"too many objects":          page(shared(10_000, packedDeployment{Objects: 1})...),
		"too long texts":            page(shared(10_000, packedDeployment{Cluster: 1})...),
		"too long notes":            page(packedDeployment{Notes: slices.Repeat([]int{1}, 10_000)}),
		"a list that is missing":    page(packedDeployment{Objects: 3}),
		"a negative list":           page(packedDeployment{Objects: -1}),
		"an object that is missing": page(packedDeployment{Objects: 2}),
		"a text that is missing":    page(packedDeployment{Bundle: 2}),
		"a negative text":           page(packedDeployment{Bundle: -1}),
		"a diff without its lines":  {Format: Format, Targets: []packedTarget{{Target: Target{Name: "prod"}, Diffs: map[string][]int{"d": {0}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal(of)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parseHTML([]byte(dataBegins + string(data) + dataEnds)); err == nil {
				t.Error("it is a report")
			}
		})
	}
}
