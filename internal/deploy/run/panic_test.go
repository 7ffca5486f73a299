package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// dereference panics as Helm's storage driver does on a damaged record.
func dereference(record *release.Observed) { record.Revision++ }

func TestPanicCostsOneDeployment(t *testing.T) {
	t.Parallel()
	web := deployment("c2", "web", "v1-new")
	tests := map[string]struct {
		panics string
		want   []string
		// record is the record, after the apply, of the deployment whose operation panicked.
		record deploy.Record
	}{
		"while writing": {
			panics: "upgrade ns/web", want: []string{"c2/web upgrading"},
			record: deploy.Record{Release: "web", Namespace: "ns", Chart: "web", Version: "1.0.0", Digest: "v1-old", State: status.ErrApplied, BundleLabels: map[string]string{}, Counts: status.Counts{Unknown: 2}},
		},
		"while reading what is another's": {
			panics: "read ns/web", want: []string{"c2/web removing"},
			record: deploy.Record{Release: "web", Namespace: "ns", Chart: "web", Version: "1.0.0", Digest: "v1-old", State: status.Ready, BundleLabels: map[string]string{}, Counts: status.Counts{Ready: 2}},
		},
		"while uninstalling": {
			panics: "uninstall ns/web", want: []string{"c2/web removing"},
			record: deploy.Record{Release: "web", Namespace: "ns", Chart: "web", Version: "1.0.0", Digest: "v1-old", State: status.ErrApplied, BundleLabels: map[string]string{}, Counts: status.Counts{Unknown: 2}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2", "c3")
			clusters["c2"].before = func(_ context.Context, operation string) error {
				if operation == test.panics {
					dereference(nil)
				}
				return nil
			}
			old := deployment("c2", "web", "v1-old")
			there := deployed(old)
			if strings.HasPrefix(test.panics, "read") {
				there = signed(by(there, "successor"), proofOn("c2"))
			}
			clusters["c2"].put(there)
			asked := request(map[deploy.Key]deploy.Record{key("c2", "web"): recordOfWrite(old)})
			others := map[deploy.Key]deploy.Record{}
			for _, d := range []string{"c1", "c2", "c3"} {
				other := deployment(d, "other", "v1-other")
				asked.Write = append(asked.Write, other)
				others[key(d, "other")] = recordOfWrite(other)
			}
			if strings.HasPrefix(test.panics, "upgrade") {
				asked.Write = append(asked.Write, web)
			} else {
				asked.Remove = []deploy.Key{key("c2", "web")}
			}

			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.want, failed(outcome.Failures)); diff != "" {
				t.Fatalf("failures (-want +got):\n%s", diff)
			}
			panicked, ok := errors.AsType[*panics.Error](outcome.Failures[0].Err)
			if !ok {
				t.Fatalf("error = %v, want a *panics.Error", outcome.Failures[0].Err)
			}
			if !strings.Contains(panicked.Error(), "release web in namespace ns") {
				t.Errorf("the error does not name the release: %v", panicked)
			}
			if !strings.Contains(panicked.Stack, "dereference") || strings.Contains(panicked.Error(), "dereference(") {
				t.Errorf("the stack belongs into Stack and nowhere else: %v\n%s", panicked, panicked.Stack)
			}
			got := outcome.Records[key("c2", "web")]
			got.Message, got.Objects, got.Known = "", nil, release.Known{}
			if diff := cmp.Diff(test.record, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			delete(outcome.Records, key("c2", "web"))
			if diff := cmp.Diff(others, outcome.Records); diff != "" {
				t.Errorf("the others (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPanicWhileConnectingOrLooking(t *testing.T) {
	t.Parallel()
	looking := newFleet("c1", "c2")
	looking["c2"].before = func(context.Context, string) error { panic("password=hunter2") }
	connecting := newFleet("c1")
	tests := map[string]run.Clusters{
		"looking": looking.connect,
		"connecting": func(name string) (run.Cluster, error) {
			if name == "c2" {
				panic(errors.New("password=hunter2"))
			}
			return connecting.connect(name)
		},
	}
	for name, clusters := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := run.New(clusters, 1)
			web := deployment("c2", "web", "v1-new")
			prior := map[deploy.Key]deploy.Record{key("c2", "web"): recordOfWrite(web)}
			asked := request(prior)
			asked.Write = append(asked.Write, deployment("c1", "web", "v1-new"), deployment("c2", "web", "v1-new"))

			outcome := engine.Apply(t.Context(), asked)
			observed := engine.Observe(t.Context(), identity(), deploy.DriftRelease, prior)

			if diff := cmp.Diff([]string{"c2/web reading the cluster before deploying"}, failed(outcome.Failures)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			want := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(deployment("c1", "web", "v1-new")), key("c2", "web"): recordOfWrite(web)}
			if diff := cmp.Diff(want, outcome.Records); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"c2 reading the cluster"}, failed(observed.Failures)); diff != "" {
				t.Errorf("failures of Observe (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(prior, observed.Records); diff != "" {
				t.Errorf("records of Observe (-want +got):\n%s", diff)
			}
			for _, failure := range append(outcome.Failures, observed.Failures...) {
				if panicked, ok := errors.AsType[*panics.Error](failure.Err); !ok {
					t.Errorf("error = %v, want a *panics.Error", failure.Err)
				} else if strings.Contains(panicked.Error()+panicked.Stack, "hunter2") {
					t.Errorf("what the panic was given shows: %v", panicked)
				}
			}
		})
	}
}

// Code that does not work on a cluster can panic, too.
func TestPanicBesideTheClusterCostsOneDeployment(t *testing.T) {
	t.Parallel()
	clusters := newFleet("c1", "c2")
	asked := request(nil)
	broken, well := deployment("c1", "web", "v1-a"), deployment("c2", "web", "v1-a")
	asked.Write = []target.Deployment{broken, well}
	asked.Settings.Description = func(d target.Deployment) string {
		if d.Cluster == "c1" {
			panic("broken")
		}
		return d.Bundle.Name
	}
	outcome := clusters.runner().Apply(t.Context(), asked)
	if diff := cmp.Diff([]string{"c1/web deploying"}, failed(outcome.Failures)); diff != "" {
		t.Fatalf("failures (-want +got):\n%s", diff)
	}
	if panicked := new(panics.Error); !errors.As(outcome.Failures[0].Err, &panicked) {
		t.Errorf("error = %v, want a panic", outcome.Failures[0].Err)
	}
	if got := outcome.Records[key("c1", "web")]; got.State != status.ErrApplied || got.Release != "web" {
		t.Errorf("record = %+v, want a release that can be there", got)
	}
	if diff := cmp.Diff(recordOfWrite(well), outcome.Records[key("c2", "web")]); diff != "" {
		t.Errorf("the other record (-want +got):\n%s", diff)
	}
}

// few returns fewer findings than were requested.
type few struct{ *memoryCluster }

func (few) Inspect(context.Context, []release.Inspection) ([]release.Finding, error) { return nil, nil }

// Findings are processed outside the operations on a cluster. A panic in that code affects only
// the deployments of that cluster.
func TestPanicOverAResponseFailsOneCluster(t *testing.T) {
	t.Parallel()
	wanted := []target.Deployment{deployment("c1", "web", "v1-a"), deployment("c2", "web", "v1-a")}
	prior := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(wanted[0]), key("c2", "web"): recordOfWrite(wanted[1])}
	asked := request(prior)
	asked.Write, asked.Settings.Drift = []target.Deployment{deployment("c1", "web", "v1-b"), deployment("c2", "web", "v1-b")}, deploy.DriftLive
	tests := map[string]struct {
		run func(context.Context, *run.Runner) ([]deploy.Failure, map[deploy.Key]deploy.Record)
		// known reports that c1 still has its record afterwards, and want are the failures.
		known bool
		want  []string
	}{
		"in a refresh": {known: true, want: []string{"c1 reading the cluster"}, run: func(ctx context.Context, e *run.Runner) ([]deploy.Failure, map[deploy.Key]deploy.Record) {
			found := e.Observe(ctx, identity(), deploy.DriftLive, prior)
			return found.Failures, found.Records
		}},
		"in the data source": {want: []string{"c1 reading the cluster"}, run: func(ctx context.Context, e *run.Runner) ([]deploy.Failure, map[deploy.Key]deploy.Record) {
			found := e.Status(ctx, owner, wanted)
			return found.Failures, found.Records
		}},
		"after an apply": {known: true, want: []string{"c1 reading the objects"}, run: func(ctx context.Context, e *run.Runner) ([]deploy.Failure, map[deploy.Key]deploy.Record) {
			outcome := e.Apply(ctx, asked)
			return outcome.Failures, outcome.Records
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2")
			for _, d := range wanted {
				clusters[d.Cluster].put(deployed(d))
			}
			engine := run.New(func(name string) (run.Cluster, error) {
				if name == "c1" {
					return few{clusters[name]}, nil
				}
				return clusters.connect(name)
			}, 2)

			failures, records := test.run(t.Context(), engine)

			if diff := cmp.Diff(test.want, failed(failures)); diff != "" {
				t.Fatalf("failures (-want +got):\n%s", diff)
			}
			if panicked := new(panics.Error); !errors.As(failures[0].Err, &panicked) {
				t.Errorf("error = %v, want a panic", failures[0].Err)
			}
			if _, known := records[key("c1", "web")]; known != test.known {
				t.Errorf("the deployment on c1 is known: %t", known)
			}
			if got := records[key("c2", "web")]; got.State != status.Ready {
				t.Errorf("the other deployment is %+v", got)
			}
		})
	}
}
