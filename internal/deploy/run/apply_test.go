package run_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestApplyToOneDeployment(t *testing.T) {
	t.Parallel()
	const oldDigest, newDigest = "v1-old", "v1-new"
	old, web := deployment("c1", "web", oldDigest), deployment("c1", "web", newDigest)
	forged := func(change func(*release.Observed)) *release.Observed {
		observed := deployed(old)
		change(&observed)
		return &observed
	}
	of := func(change func(*release.Observed)) *release.Observed {
		return new(signed(*forged(change), proofOn("c1")))
	}
	broken := errors.New("quota exceeded")
	left := func(state status.State, message, digest string) *deploy.Record {
		record := recordOfWrite(old)
		record.State, record.Message, record.Digest = state, message, digest
		if state == status.ErrApplied {
			record.Counts = record.Counts.Unseen()
		}
		return &record
	}
	tests := map[string]struct {
		there   *release.Observed
		unknown bool // to the state
		remove  bool
		blocked bool
		arrange func(*memoryCluster)
		did     []string
		want    *deploy.Record
		fails   []string
	}{
		"a blocked installation": {unknown: true, blocked: true, fails: []string{"c1/web deploying"}},
		"a blocked upgrade":      {there: of(func(*release.Observed) {}), blocked: true, fails: []string{"c1/web deploying"}, want: left(status.Ready, "", oldDigest)},
		"a blocked removal":      {there: of(func(*release.Observed) {}), remove: true, blocked: true, fails: []string{"c1/web removing"}, want: left(status.Ready, "", oldDigest)},
		"install":                {unknown: true, did: []string{"install ns/web"}, want: new(recordOfWrite(web))},
		"install again what is gone": {
			did: []string{"install ns/web"}, want: new(recordOfWrite(web)),
		},
		"install over a kept history": {
			there: of(func(o *release.Observed) { o.Status = release.StatusUninstalled }), did: []string{"install ns/web"}, want: new(upgraded(recordOfWrite(web))),
		},
		"upgrade": {there: of(func(*release.Observed) {}), did: []string{"upgrade ns/web"}, want: new(upgraded(recordOfWrite(web)))},
		"unchanged": {
			there: of(func(o *release.Observed) { o.Mark.Digest = newDigest }), did: []string{"keep ns/web"}, want: new(recordOfWrite(web)),
		},
		"recover": {
			there: of(func(o *release.Observed) { o.Status = release.StatusPendingUpgrade }), did: []string{"recover ns/web"}, want: new(upgraded(recordOfWrite(web))),
		},
		"adopt": {
			there: of(func(o *release.Observed) {
				o.Mark.Instance, o.Mark.Digest, o.Mark.AdoptionKey = "former", newDigest, "k"
			}), unknown: true,
			did: []string{"adopt ns/web"}, want: new(recordOfWrite(web)),
		},
		"belongs to another owner": {
			there: forged(func(o *release.Observed) { o.Mark.Owner, o.Mark.Instance = "somebody", "j" }), unknown: true,
			fails: []string{"c1/web deploying"},
		},
		"not ready and not waited for": {
			unknown: true, arrange: func(m *memoryCluster) { m.notReady["ns/web"] = errors.New("0 of 1 replicas") },
			did: []string{"install ns/web"}, want: &deploy.Record{
				Release: "web", Namespace: "ns", Chart: "web", Version: "1.0.0", Digest: newDigest,
				State: status.NotReady, Message: "0 of 1 replicas", Objects: rendered(web).Hashes(),
				Counts: status.Counts{Ready: 1, NotReady: 1}, BundleLabels: web.Bundle.Labels(), Known: knownOf(web),
			},
		},
		"install fails and leaves a revision": {
			unknown: true, arrange: func(m *memoryCluster) { m.broken["ns/web"] = broken },
			did: []string{"install ns/web"}, fails: []string{"c1/web installing"},
			want: &deploy.Record{Release: "web", Namespace: "ns", Digest: newDigest, State: status.ErrApplied, Message: "quota exceeded", BundleLabels: web.Bundle.Labels(), Known: knownOf(web)},
		},
		"install fails and leaves nothing": {
			unknown: true, arrange: failAt(broken, "install ns/web"),
			did: []string{"install ns/web"}, fails: []string{"c1/web installing"},
		},
		"install fails over a kept history": {
			there:   of(func(o *release.Observed) { o.Status = release.StatusUninstalled }),
			arrange: failAt(broken, "install ns/web"), did: []string{"install ns/web"}, fails: []string{"c1/web installing"},
		},
		"upgrade fails before it began": {
			there: of(func(*release.Observed) {}), arrange: failAt(broken, "upgrade ns/web"),
			did: []string{"upgrade ns/web"}, fails: []string{"c1/web upgrading"},
			want: left(status.ErrApplied, "quota exceeded", oldDigest),
		},
		"upgrade fails and nobody can say what is left": {
			there: of(func(*release.Observed) {}), arrange: failAt(broken, "upgrade ns/web", "read ns/web"),
			did: []string{"upgrade ns/web"}, fails: []string{"c1/web upgrading"},
			want: left(status.ErrApplied, "quota exceeded", ""),
		},
		"uninstall": {there: of(func(*release.Observed) {}), remove: true, did: []string{"uninstall ns/web"}},
		"uninstall what is gone": {
			remove: true,
		},
		"uninstall fails": {
			there: of(func(*release.Observed) {}), remove: true, arrange: failAt(broken, "uninstall ns/web"),
			did: []string{"uninstall ns/web"}, fails: []string{"c1/web removing"}, want: left(status.ErrApplied, "quota exceeded", oldDigest),
		},
		"uninstall cannot read the record": {
			there: of(func(o *release.Observed) { o.Mark.Instance = "successor" }), remove: true, arrange: failAt(broken, "read ns/web"),
			fails: []string{"c1/web removing"}, want: left(status.Ready, "", oldDigest),
		},
		"uninstall refuses what another instance has": {
			there: of(func(o *release.Observed) { o.Mark.Instance = "successor" }), remove: true,
		},
		"uninstall refuses what plain Helm has": {
			there: forged(func(o *release.Observed) { o.Revision, o.Mark = 2, release.Mark{} }), remove: true,
			fails: []string{"c1/web removing"}, want: left(status.Ready, "", oldDigest),
		},
		"uninstall refuses what others claim without a proof": {
			there: forged(func(o *release.Observed) { o.Revision, o.Mark.Revision, o.Mark.Instance = 2, 2, "successor" }), remove: true,
			fails: []string{"c1/web removing"}, want: left(status.Ready, "", oldDigest),
		},
		"uninstall of a record that was changed in place": {
			there: forged(func(o *release.Observed) { o.Mark.Instance = "successor" }), remove: true, did: []string{"uninstall ns/web"},
		},
		"kept, and the content is not proven": {
			there:   of(func(o *release.Observed) { o.Mark.Digest = newDigest }),
			arrange: func(m *memoryCluster) { m.untrusted = true },
			did:     []string{"keep ns/web", "upgrade ns/web"}, want: new(upgraded(recordOfWrite(web))),
		},
		"a digest without a proof": {
			there: forged(func(o *release.Observed) { o.Mark.Digest = newDigest }), did: []string{"upgrade ns/web"}, want: new(upgraded(recordOfWrite(web))),
		},
		"a newer revision without a proof": {
			there: forged(func(o *release.Observed) { o.Revision, o.Mark.Revision, o.Mark.Digest = 2, 2, newDigest }),
			fails: []string{"c1/web deploying"}, want: left(status.Ready, "", oldDigest),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			if test.there != nil {
				clusters["c1"].put(*test.there)
			}
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}
			prior := map[deploy.Key]deploy.Record{}
			if !test.unknown {
				prior[key("c1", "web")] = recordOfWrite(old)
			}
			asked := request(prior)
			asked.AdoptionKey = "k"
			if test.remove {
				asked.Remove = []deploy.Key{key("c1", "web")}
			} else {
				asked.Write = []target.Deployment{web}
			}
			if test.blocked {
				asked.Blocked = map[deploy.Key]error{key("c1", "web"): errors.New("the window is closed")}
			}

			outcome := clusters.runner().Apply(t.Context(), asked)

			want := map[deploy.Key]deploy.Record{}
			if test.want != nil {
				want[key("c1", "web")] = *test.want
			}
			if diff := cmp.Diff(want, outcome.Records); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
			}
			if diff := cmp.Diff(test.did, clusters["c1"].did(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyHandsSettingsToEachWrite(t *testing.T) {
	t.Parallel()
	// The timeout of a bundle takes precedence over that of the settings, up to half of the apply.
	clusters := newFleet("c1")
	asked := request(nil)
	slow := deployment("c1", "slow", "v1-a")
	slow.Options.Helm = &fleetyaml.Helm{TimeoutSeconds: 7}
	eternal := deployment("c1", "eternal", "v1-c")
	eternal.Options.Helm = &fleetyaml.Helm{TimeoutSeconds: math.MaxInt}
	asked.Write = []target.Deployment{slow, deployment("c1", "web", "v1-b"), eternal}
	asked.Settings.Consent.All, asked.Settings.Limit = true, time.Hour
	expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
	proof := proofOn("c1")
	own := func(bundle, digest string) release.Mark {
		made := mark(bundle, digest, 0)
		made.UninstallPolicy.OwnValues, made.Text = true, release.TextPublic
		return made
	}
	want := map[string]release.Write{
		"ns/eternal": {Mark: own("eternal", "v1-c"), Proof: proof, Wait: true, Timeout: 30 * time.Minute, MaxHistory: 5, TakeOwnership: true, Description: "eternal"},
		"ns/slow":    {Mark: own("slow", "v1-a"), Proof: proof, Wait: true, Timeout: 7e9, MaxHistory: 5, TakeOwnership: true, Description: "slow"},
		"ns/web":     {Mark: own("web", "v1-b"), Proof: proof, Wait: true, Timeout: 60e9, MaxHistory: 5, TakeOwnership: true, Description: "web"},
	}
	if diff := cmp.Diff(want, clusters["c1"].writes, cmpopts.IgnoreFields(release.Write{}, "Listener", "Slot", "NamespaceUsedBy", "Owns")); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestApplyMoves(t *testing.T) {
	t.Parallel()
	old := deployment("c1", "web", "v1-old")
	renamed, elsewhere := deployment("c1", "web", "v1-new"), deployment("c1", "web", "v1-new")
	renamed.Release = "site"
	elsewhere.Namespace = "other"
	stays := recordOfWrite(old)
	stays.State, stays.Message = status.ErrApplied, "quota exceeded"
	half := recordOfWrite(renamed)
	half.State, half.Message, half.Leftovers = status.ErrApplied, "quota exceeded", []release.Known{knownOf(old)}
	both := stays
	both.Leftovers = []release.Known{knownOf(renamed)}
	broken := errors.New("quota exceeded")
	tests := map[string]struct {
		to      target.Deployment
		arrange func(*memoryCluster)
		did     []string
		fails   []string
		want    deploy.Record
		// held is the release that owns the object which both releases have.
		held string
	}{
		"another name": {
			to: renamed, did: []string{"install ns/site", "uninstall ns/web"}, want: recordOfWrite(renamed), held: "ns/site",
		},
		"another namespace": {
			to: elsewhere, did: []string{"install other/web", "uninstall ns/web"}, want: recordOfWrite(elsewhere), held: "other/web",
		},
		"the new one cannot be installed": {
			to: renamed, arrange: failAt(broken, "install ns/site"),
			did: []string{"install ns/site"}, fails: []string{"c1/web installing"}, want: stays, held: "ns/web",
		},
		"the new one fails and leaves a revision": {
			to: renamed, arrange: func(m *memoryCluster) { m.broken["ns/site"] = broken },
			did: []string{"install ns/site"}, fails: []string{"c1/web installing"}, want: both, held: "ns/web",
		},
		"the old one cannot be removed": {
			to: renamed, arrange: failAt(broken, "uninstall ns/web"),
			did: []string{"install ns/site", "uninstall ns/web"}, fails: []string{"c1/web removing the former release"},
			want: half, held: "ns/site",
		},
		"another instance has taken the old one": {
			to: renamed, arrange: func(m *memoryCluster) {
				m.put(signed(by(deployed(old), "successor"), proofOn("c1")))
			},
			did: []string{"install ns/site"}, want: recordOfWrite(renamed), held: "ns/site",
		},
		"the old one is gone": {
			to: renamed, arrange: func(m *memoryCluster) { delete(m.releases, "ns/web") },
			did: []string{"install ns/site"}, want: recordOfWrite(renamed), held: "ns/site",
		},
		"a move that was broken off goes on": {
			to: renamed, arrange: func(m *memoryCluster) { m.put(deployed(renamed)) },
			did: []string{"keep ns/site", "uninstall ns/web"}, want: recordOfWrite(renamed), held: "ns/site",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(deployed(old))
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(old)})
			asked.Write = []target.Deployment{test.to}

			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.want, outcome.Records[key("c1", "web")]); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
			}
			if diff := cmp.Diff(test.did, clusters["c1"].did()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if got := clusters["c1"].held()["ClusterRole/web"]; got != test.held {
				t.Errorf("the shared object is held by %q, want %q", got, test.held)
			}
		})
	}
}

// A bundle gets another name, but its release keeps its own because of helm.releaseName. The
// removal of one deployment must not remove what the other one takes over.
func TestApplyHandsReleasesFromBundleToBundle(t *testing.T) {
	t.Parallel()
	web, site := deployment("c1", "web", "v1-old"), deployment("c1", "site", "v1-new")
	site.Release = "web"
	web2 := deployment("c1", "web", "v1-new")
	web2.Release = "elsewhere"
	tests := map[string]struct {
		write   []target.Deployment
		remove  []deploy.Key
		arrange func(*memoryCluster)
		did     []string
		fails   []string
		want    map[deploy.Key]deploy.Record
	}{
		"the former bundle goes": {
			write: []target.Deployment{site}, remove: []deploy.Key{key("c1", "web")}, did: []string{"upgrade ns/web"},
			want: map[deploy.Key]deploy.Record{key("c1", "site"): upgraded(recordOfWrite(site))},
		},
		"the former bundle moves": {
			write: []target.Deployment{site, web2}, did: []string{"install ns/elsewhere", "upgrade ns/web"},
			want: map[deploy.Key]deploy.Record{key("c1", "site"): upgraded(recordOfWrite(site)), key("c1", "web"): recordOfWrite(web2)},
		},
		"the latter bundle fails": {
			write: []target.Deployment{site}, remove: []deploy.Key{key("c1", "web")},
			arrange: failAt(errors.New("quota exceeded"), "upgrade ns/web"),
			did:     []string{"upgrade ns/web"}, fails: []string{"c1/site upgrading"},
			want: map[deploy.Key]deploy.Record{key("c1", "site"): {
				Release: "web", Namespace: "ns", Digest: "v1-old", State: status.ErrApplied, Message: "quota exceeded", BundleLabels: site.Bundle.Labels(), Known: knownOf(web),
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(deployed(web))
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
			asked.Write, asked.Remove = test.write, test.remove

			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.want, outcome.Records); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
			}
			got := clusters["c1"].did()
			slices.Sort(got)
			if diff := cmp.Diff(test.did, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailingClustersCostOnlyTheirOwnDeployments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		breaks string
		fails  []string
		want   *deploy.Record
	}{
		"does not respond": {
			breaks: "look", fails: []string{"bad/gone reading the cluster before removing", "bad/web reading the cluster before deploying"},
			want: new(recordOfWrite(deployment("bad", "web", "v1-old"))),
		},
		"stops answering": {
			breaks: "u", fails: []string{"bad/gone removing", "bad/web upgrading"},
			want: &deploy.Record{Release: "web", Namespace: "ns", Chart: "web", Version: "1.0.0", Digest: "v1-old", State: status.ErrApplied, BundleLabels: map[string]string{}, Counts: status.Counts{Unknown: 2}},
		},
		"answers no question": {
			breaks: "", fails: []string{"bad/gone reading the cluster before removing", "bad/web reading the cluster before deploying"},
			want: new(recordOfWrite(deployment("bad", "web", "v1-old"))),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{"a", "b", "bad", "c", "d"}
			clusters := newFleet(names...)
			clusters["bad"].before = func(_ context.Context, operation string) error {
				if strings.HasPrefix(operation, test.breaks) {
					return unreachable("bad")
				}
				return nil
			}
			prior := map[deploy.Key]deploy.Record{}
			asked := request(prior)
			asked.Settings.Timeout = 300 * time.Millisecond // Operations are tried again for this long.
			for _, name := range names {
				web, gone := deployment(name, "web", "v1-old"), deployment(name, "gone", "v1-old")
				clusters[name].put(deployed(web))
				clusters[name].put(deployed(gone))
				prior[key(name, "web")], prior[key(name, "gone")] = recordOfWrite(web), recordOfWrite(gone)
				asked.Write = append(asked.Write, deployment(name, "web", "v1-new"))
				asked.Remove = append(asked.Remove, key(name, "gone"))
			}

			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.fails, failed(outcome.Failures)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			for _, failure := range outcome.Failures {
				if _, ok := errors.AsType[*status.UnreachableError](failure.Err); !ok {
					t.Errorf("error = %v, want an UnreachableError", failure.Err)
				}
			}
			if _, kept := outcome.Records[key("bad", "gone")]; !kept {
				t.Error("what could not be removed is taken as gone")
			}
			kept := outcome.Records[key("bad", "web")]
			kept.Message, kept.Objects, test.want.Objects, test.want.Known = "", nil, nil, knownOf(deployment("bad", "web", "v1-old"))
			if diff := cmp.Diff(*test.want, kept); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				if diff := cmp.Diff(upgraded(recordOfWrite(deployment(name, "web", "v1-new"))), outcome.Records[key(name, "web")]); diff != "" {
					t.Errorf("record on %s (-want +got):\n%s", name, diff)
				}
				if _, left := outcome.Records[key(name, "gone")]; left || len(clusters[name].releases) != 1 {
					t.Errorf("cluster %s still has what was to be removed", name)
				}
			}
		})
	}
}

// failAt makes operations fail.
func failAt(err error, operations ...string) func(*memoryCluster) {
	return func(m *memoryCluster) {
		m.before = func(_ context.Context, operation string) error {
			if slices.Contains(operations, operation) {
				return err
			}
			return nil
		}
	}
}

// Two names refer to one cluster. A release that is deployed under one name is not removed under
// the other, whether this request writes it or keeps it.
func TestApplySparesWhatAnotherNameOfTheClusterHolds(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"written": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			under := func(cluster string) target.Deployment { return deployment(cluster, "web", "v1-a") }
			clusters := newFleet("a", "other")
			clusters["b"] = clusters["a"]
			clusters["a"].put(deployed(under("a")))
			asked := request(map[deploy.Key]deploy.Record{key("a", "web"): recordOfWrite(under("a")), key("b", "web"): recordOfWrite(under("b"))})
			asked.Remove = []deploy.Key{key("a", "web")}
			if kept {
				asked.Keep, asked.UIDs = []deploy.Key{key("b", "web")}, map[string]string{"b": "uid-a"}
			} else {
				asked.Write = []target.Deployment{under("b")}
			}
			outcome := clusters.runner().Apply(t.Context(), asked)
			expectNoFailures(t, outcome.Failures)
			if _, there := clusters["a"].releases["ns/web"]; !there {
				t.Errorf("the release was removed: %v", clusters["a"].did())
			}
			if _, left := outcome.Records[key("a", "web")]; left {
				t.Error("the deployment still counts under its former name")
			}
		})
	}
}

// A release that is as wanted except for its objects was rendered when its cluster had other
// capabilities. The apply writes the objects that the plan promised.
func TestApplyKeepsPromisedObjects(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-digest")
	tests := map[string]struct {
		planned map[string]string
		did     []string
	}{
		"nothing promised":         {did: []string{"keep ns/web"}},
		"what is there":            {planned: rendered(web).Hashes(), did: []string{"keep ns/web"}},
		"other than what is there": {planned: map[string]string{"ConfigMap/ns/web": "other"}, did: []string{"keep ns/web", "upgrade ns/web"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(deployed(web))
			asked := request(nil)
			asked.Write = []target.Deployment{web}
			if test.planned != nil {
				asked.Planned = map[deploy.Key]map[string]string{key("c1", "web"): test.planned}
			}
			outcome := clusters.runner().Apply(t.Context(), asked)
			if diff := cmp.Diff(test.did, clusters["c1"].did()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			want := upgraded(recordOfWrite(web))
			if test.did[len(test.did)-1] == "keep ns/web" {
				want = recordOfWrite(web)
			}
			if diff := cmp.Diff(map[deploy.Key]deploy.Record{key("c1", "web"): want}, outcome.Records); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}
