package helm_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// rejectedService is an object that API servers refuse. Helm writes it after config maps.
const rejectedService = "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999999}]}\n"

// attempt is an upgrade in a story of failures.
type attempt struct {
	// maps are the config maps of the revision, each with one key of its data.
	maps   map[string]string
	fails  bool
	atomic bool
}

// A revision that is deployed after others have failed leaves nothing of them.
func TestAccNothingIsLeftOfFailedRevisions(t *testing.T) {
	t.Parallel()
	first := map[string]string{"one": "a"}
	tests := map[string]struct {
		attempts []attempt
		// between runs before the last attempt.
		between func(*onCluster)
		want    map[string]string
	}{
		"the failed one is reverted": {
			attempts: []attempt{{maps: map[string]string{"one": "b", "two": "b"}, fails: true}, {maps: first}},
			want:     first,
		},
		"several have failed": {
			attempts: []attempt{
				{maps: map[string]string{"one": "b", "two": "b"}, fails: true},
				{maps: map[string]string{"one": "c", "three": "c"}, fails: true},
				{maps: map[string]string{"one": "d"}, fails: true},
				{maps: map[string]string{"one": "e"}},
			},
			want: map[string]string{"one": "e"},
		},
		"more have failed than are kept": {
			attempts: []attempt{
				{maps: map[string]string{"b": "b"}, fails: true},
				{maps: map[string]string{"c": "c"}, fails: true},
				{maps: map[string]string{"d": "d"}, fails: true},
				{maps: map[string]string{"d": "d"}, fails: true},
				{maps: map[string]string{"d": "d"}, fails: true},
				{maps: map[string]string{"e": "e"}, fails: true},
				{maps: first},
			},
			want: first,
		},
		"an atomic one fails after another": {
			attempts: []attempt{
				{maps: map[string]string{"one": "b", "two": "b"}, fails: true},
				{maps: map[string]string{"one": "c", "three": "c"}, fails: true, atomic: true},
			},
			want: first,
		},
		"one was interrupted": {
			attempts: []attempt{{maps: map[string]string{"one": "b", "two": "b"}, fails: true}, {maps: first}},
			between:  func(o *onCluster) { o.interrupt() },
			want:     first,
		},
		"the record of one was changed": {
			attempts: []attempt{{maps: map[string]string{"one": "b"}, fails: true}, {maps: first}},
			between: func(o *onCluster) {
				o.make(o.namespace, "planted", o.namespace+"/web")
				o.tamperWith("sh.helm.release.v1.web.v2", func(r *helmrelease.Release) { r.Manifest += configMapFile(o.namespace, "planted") })
			},
			want: map[string]string{"one": "a b", "planted": ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "failed-"+bundle.Name(name))
			known := o.install(filesOf(first, false))
			for i, of := range test.attempts {
				if test.between != nil && i == len(test.attempts)-1 {
					test.between(o)
				}
				o.attempt(of, &known)
			}
			if diff := cmp.Diff(test.want, o.keys()); diff != "" {
				t.Errorf("config maps and keys (-want +got):\n%s", diff)
			}
			if observed := o.observed(); observed.Status != release.StatusDeployed || observed.Failed != 0 {
				t.Errorf("the newest revision is %+v", observed)
			}
		})
	}
}

// A removal also removes what failed revisions have made.
func TestAccRemovalAfterFailedRevisions(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "removed-after-failures")
	known := o.install(filesOf(map[string]string{"one": "a"}, false))
	o.attempt(attempt{maps: map[string]string{"one": "b", "two": "b"}, fails: true}, &known)
	o.attempt(attempt{maps: map[string]string{"one": "b", "three": "b"}, fails: true}, &known)
	if got := o.observed().Failed; got != 2 {
		t.Errorf("%d revisions have failed, want 2", got)
	}
	removed, err := o.uninstall(known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(release.Removed{}, removed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left := append(o.left(o.namespace), o.secrets()...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What a plan compares with is what the next upgrade is merged from.
func TestAccDeployedAfterFailedRevisions(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "compared-after-failures")
	known := o.install(filesOf(map[string]string{"one": "a"}, false))
	o.attempt(attempt{maps: map[string]string{"one": "b", "two": "b"}, fails: true}, &known)
	o.attempt(attempt{maps: map[string]string{"one": "c"}, fails: true}, &known)
	by := release.Claimant{Mark: release.NewMark("owner", "target", "instance", "web", ""), Proof: proof(), Known: &known}
	found := o.client.Deployed(t.Context(), []release.Claimed{{Observed: *o.observed(), By: by}})
	if found[0].Err != nil {
		t.Fatal(found[0].Err)
	}
	got := map[string]string{}
	for _, document := range found[0].Documents {
		got[document.Key()] = document.Content
	}
	object := func(name, data string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","data":{%s},"kind":"ConfigMap","metadata":{"name":"%s"}}`, data, name)
	}
	want := map[string]string{
		"ConfigMap/" + o.namespace + "/one": object("one", `"a":"x","b":"x","c":"x"`),
		"ConfigMap/" + o.namespace + "/two": object("two", `"b":"x"`),
		"Service/" + o.namespace + "/bad":   `{"apiVersion":"v1","kind":"Service","metadata":{"name":"bad"},"spec":{"ports":[{"port":99999999}]}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if len(found[0].Revisions) != 3 {
		t.Errorf("%d revisions, want 3", len(found[0].Revisions))
	}

	o.tamperWith("sh.helm.release.v1.web.v3", func(record *helmrelease.Release) { record.Manifest = "" })
	if found = o.newClient().Deployed(t.Context(), []release.Claimed{{Observed: *o.observed(), By: by}}); !errors.Is(found[0].Err, release.ErrRecordChanged) {
		t.Errorf("after the content of the newest record changed: %v", found[0].Err)
	}
}

// filesOf returns the files of a revision.
func filesOf(of map[string]string, fails bool) map[string]string {
	files := map[string]string{}
	for name, key := range of {
		files[name+".yaml"] = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {" + key + ": x}\n"
	}
	if fails {
		files["z.yaml"] = rejectedService
	}
	return files
}

// attempt upgrades the release.
func (o *onCluster) attempt(of attempt, known *release.Known) {
	o.Helper()
	d := o.deployment(filesOf(of.maps, of.fails))
	d.Options.Helm = &fleetyaml.Helm{Atomic: of.atomic, MaxHistory: 2}
	action, err := release.Decide(release.Facts{Known: true}, release.Claimant{
		Mark: release.NewMark("owner", "target", "instance", "web", d.Digest), Proof: proof(), Known: known,
	}, o.observed(), false)
	if err != nil {
		o.Fatal(err)
	}
	written, err := o.write(action, d, known)
	if (err != nil) != of.fails {
		o.Fatalf("%v: %v", of, err)
	}
	known.Revision = written.Revision
}

// interrupt makes the newest record look like that of an operation that was killed.
func (o *onCluster) interrupt() {
	o.Helper()
	name := "sh.helm.release.v1.web.v2"
	o.tamperWith(name, func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusPendingUpgrade })
	o.patchRecord(name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"status": "pending-upgrade"}}})
}

// keys returns the keys of the data of each config map, separated by spaces.
func (o *onCluster) keys() map[string]string {
	o.Helper()
	keys := map[string]string{}
	for _, name := range o.left(o.namespace) {
		found, err := o.objects.CoreV1().ConfigMaps(o.namespace).Get(o.Context(), name, metav1.GetOptions{})
		if err != nil {
			o.Fatal(err)
		}
		keys[name] = strings.Join(slices.Sorted(maps.Keys(found.Data)), " ")
	}
	return keys
}
