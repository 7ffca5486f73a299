package acceptance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// keepsPrivateData reports whether the CLI passes the private data of a plan to its apply, as
// Terraform does from 1.16 on. Without it, what a create looks up is looked up again by its apply.
func (w *workspace) keepsPrivateData(t *testing.T) bool {
	t.Helper()
	minor, isTofu := w.cliVersion(t)
	return !isTofu && minor >= 16
}

// cliVersion returns the minor version of the CLI, whose major version is 1.
func (w *workspace) cliVersion(t *testing.T) (minor int, isTofu bool) {
	t.Helper()
	var cli struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal([]byte(w.run(t, "version", "-json")), &cli); err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(strings.Split(cli.Version, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	return minor, strings.HasSuffix(w.cli, "tofu")
}

// onAnotherMachine replaces everything that a process could leave to another one but the working folder.
func (w *workspace) onAnotherMachine(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	w.env = append(w.env, "HOME="+home, "XDG_CACHE_HOME="+home)
}

func (o *sourceFixture) expectValue(t *testing.T, want string) {
	t.Helper()
	if got := o.value(t, 0, "one"); got != want {
		t.Errorf("the cluster has the value %q, want %q", got, want)
	}
}

// A saved plan that creates deploys what it shows, whatever is published before its apply, on another
// machine. Before Terraform 1.16 Terraform itself stops such an apply before a cluster is touched.
func TestAccSavedCreate(t *testing.T) {
	t.Parallel()
	const planned, other = "planned", "other"
	branch := func(o *sourceFixture) string {
		return fmt.Sprintf("resource \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n  branch = \"main\"\n}\n", o.git.URL("fleet"))
	}
	newest := func(o *sourceFixture) string {
		return o.bundle(fmt.Sprintf("chart = { repo = %q, name = \"one\", version = \"~1\" }", o.charts.RepositoryURL()))
	}
	tests := map[string]struct {
		publish func(t *testing.T, o *sourceFixture) string
		changed func(t *testing.T, o *sourceFixture)
		// stays is true if the next plan shows no change.
		stays bool
	}{
		"a branch that moves": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", o.raw(planned))
				return branch(o)
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.commit(t, "fleet", o.raw(other)) },
		},
		"a branch of a bundle that moves": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", bare(planned))
				return o.bundle(fmt.Sprintf("git = { repo = %q, revision = \"main\" }", o.git.URL("fleet")))
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.commit(t, "fleet", bare(other)) },
		},
		"a constraint that a newer version meets": {
			publish: func(_ *testing.T, o *sourceFixture) string {
				o.charts.AddChart(o.chart("1.0.0", planned))
				return newest(o)
			},
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.1.0", other)) },
			stays:   true, // A version stays until it is asked for again.
		},
		"a constraint that is followed": {
			publish: func(_ *testing.T, o *sourceFixture) string {
				o.charts.AddChart(o.chart("1.0.0", planned))
				return strings.Replace(newest(o), `version = "~1"`, `version = "~1", follow = "constraint"`, 1)
			},
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.1.0", other)) },
		},
		"a constraint in a fleet.yaml": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.charts.AddChart(o.chart("1.0.0", planned))
				o.fleet(t, "  repo: "+o.charts.RepositoryURL()+"\n  chart: one\n  version: ~1\n")
				return branch(o)
			},
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.1.0", other)) },
			stays:   true,
		},
		"a chart in git that changes": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "charts", chartFiles(o.chart("1.0.0", planned)))
				o.fleet(t, "  chart: git::"+o.git.URL("charts")+"//one?ref=main\n")
				return branch(o)
			},
			changed: func(t *testing.T, o *sourceFixture) {
				t.Helper()
				o.commit(t, "charts", chartFiles(o.chart("1.0.0", other)))
			},
			stays: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			keeps := w.keepsPrivateData(t)
			o := &sourceFixture{gate: newGate(t, 1), git: gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true}), charts: charttest.New(t, charttest.Options{})}
			o.become(t, "apply", role(t, "apply"))
			from := test.publish(t, o)
			bundles := "fleet_bundle.one.bundles"
			if strings.Contains(from, "fleet_gitrepo") {
				bundles = "fleet_gitrepo.one.bundles"
			}
			w.configure(t, o.provider(o.reachable(), on), from, target("", bundles))
			w.run(t, "plan", "-input=false", "-out=saved")
			test.changed(t, o)
			w.onAnotherMachine(t)
			if !keeps {
				w.fail(t, []string{"apply", "-input=false", "saved"}, "inconsistent final plan")
				o.expectNothing(t, 0)
				w.apply(t) // A new plan works.
				o.expectValue(t, other)
				return
			}
			w.run(t, "apply", "-input=false", "saved")
			o.expectValue(t, planned)
			want := []string{"~ a/one"}
			if test.stays {
				want = nil
			}
			if diff := cmp.Diff(want, w.plannedChanges(t)); diff != "" {
				t.Errorf("the next plan (-want +got):\n%s", diff)
			}
		})
	}
}

// The same with a tag of an image.
func TestAccSavedCreateOfImageScans(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word", Bearer: true})
	server.PushImage("acme/web", "1.0.0")
	o := imageScansStory{w: w, s: s, server: server, git: gittest.New(t, gittest.Options{}), name: strings.TrimPrefix(server.RegistryURL("acme/web"), "oci://")}
	o.commit(t, "{semver: {range: 1.x}}")
	o.configure(t, "image_scans = true")
	w.run(t, "plan", "-input=false", "-out=saved")
	server.PushImage("acme/web", "1.1.0")
	w.onAnotherMachine(t)
	if !w.keepsPrivateData(t) {
		w.fail(t, []string{"apply", "-input=false", "saved"}, "inconsistent final plan")
		s.expectNothing(t, 0)
		return
	}
	w.run(t, "apply", "-input=false", "saved")
	o.expect(t, "1.0.0")
	if diff := cmp.Diff([]string{"~ a/fleet-web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("the next plan (-want +got):\n%s", diff)
	}
}

// A target that a plan creates deploys what was planned, although its cluster serves another API by
// then.
func TestAccSavedCreateOfCapabilities(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.able("1"), target("", "fleet_bundle.able.bundles"))
	planned, unknown := w.plannedObjects(t)
	s.defineWidget(t, 0)
	w.onAnotherMachine(t)
	if !w.keepsPrivateData(t) {
		if !slices.Equal(unknown, []string{"a/able"}) {
			t.Errorf("the plan leaves %q open", unknown)
		}
		w.run(t, "apply", "-input=false", "tfplan")
		s.expectWidget(t, 0, true)
		return
	}
	if len(unknown) > 0 {
		t.Errorf("the plan does not know the objects of %q", unknown)
	}
	w.applyPlanned(t, planned)
	s.expectWidget(t, 0, false)
	w.expectEmptyPlan(t)
}

// Between plan and apply the kubeconfig is switched to another cluster. Before Terraform 1.16 that
// takes uid in the configuration to be noticed.
func TestAttackCreateOnAnotherCluster(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	post := newRedirector(t, w, env)
	w.configure(t, s.misled(post, ""), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.run(t, "plan", "-input=false", "-out=tfplan")
	post.turn(t, env, 2)
	if !w.keepsPrivateData(t) {
		w.run(t, "apply", "-input=false", "tfplan")
		s.expectReleases(t, 2, "one")
		return
	}
	w.refuse(t, []string{"apply", "-input=false", "tfplan"}, "a/one", "the connection reaches another cluster")
	s.expectReleases(t, 0)
	s.expectReleases(t, 2)
	if got := s.value(t, 1, "one"); got != "x" {
		t.Errorf("the other cluster has %q, want x", got)
	}
	post.turn(t, env, 0)
	w.apply(t)
	s.expectReleases(t, 0, "one")
	w.expectEmptyPlan(t)
}
