package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// sourceFixture is everything that a bundle "one" can be made from. Its config map shows which
// content it has.
type sourceFixture struct {
	*gate
	git    *gittest.Server
	charts *charttest.Server
	dir    string
}

// reachable are the attributes of the provider that name the servers, which have private addresses.
func (o *sourceFixture) reachable() string {
	_, host, _ := strings.Cut(o.charts.URL(""), "://")
	return fmt.Sprintf("  git = { %q = {} }\n  registries = { %q = { plain_http = true }, %q = {} }\n", o.git.URL(""), "oci://"+host, o.charts.URL(""))
}

// chart is a chart with this content.
func (o *sourceFixture) chart(version, content string) charttest.Chart {
	return charttest.Chart{Name: "one", Version: version, Files: map[string]string{"templates/cm.yaml": configMap("one", content+"{{ .Values.more }}"), "values.yaml": "more: \"\"\n"}}
}

// commit makes files the whole content of a repository.
func (o *sourceFixture) commit(t *testing.T, repo string, files map[string]string) string {
	t.Helper()
	commit, err := o.git.Commit(t.Context(), repo, "main", "Change", files)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// forcePush makes files the whole content of a repository and leaves no earlier commit.
func (o *sourceFixture) forcePush(t *testing.T, repo string, files map[string]string) {
	t.Helper()
	o.run(t, repo, "update-ref", "-d", "refs/heads/main")
	if _, err := o.git.Commit(t.Context(), repo, "main", "Another history", files); err != nil {
		t.Fatal(err)
	}
	o.run(t, repo, "reflog", "expire", "--expire=now", "--all")
	o.run(t, repo, "gc", "--quiet", "--prune=now")
}

func (o *sourceFixture) run(t *testing.T, repo string, args ...string) {
	t.Helper()
	if _, err := o.git.Git(t.Context(), repo, args...); err != nil {
		t.Fatal(err)
	}
}

// fleet is a repository in which helm options make bundle one.
func (o *sourceFixture) fleet(t *testing.T, helm string) string {
	t.Helper()
	o.commit(t, "fleet", map[string]string{"fleet.yaml": "name: one\ndefaultNamespace: " + o.namespace + "\nhelm:\n" + helm})
	return o.data()
}

func (o *sourceFixture) raw(content string) map[string]string {
	return map[string]string{"fleet.yaml": "name: one\ndefaultNamespace: " + o.namespace + "\n", "cm.yaml": configMap("one", content)}
}

// bare is a bundle without a fleet.yaml.
func bare(content string) map[string]string {
	return map[string]string{"cm.yaml": configMap("one", content)}
}

func (o *sourceFixture) data() string {
	return fmt.Sprintf("data \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n  branch = \"main\"\n}\n", o.git.URL("fleet"))
}

func (o *sourceFixture) bundle(from string) string {
	return fmt.Sprintf("resource \"fleet_bundle\" \"one\" {\n  name = \"one\"\n  default_namespace = %q\n  %s\n}\n", o.namespace, from)
}

// keepIn writes the bundle into a local folder.
func (o *sourceFixture) keepIn(t *testing.T, content string) {
	t.Helper()
	for name, text := range o.raw(content) {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// An apply fetches what was planned, or fails with an error that describes the planned and the
// current content. After the error it touches no cluster, not even for other bundles of the target.
func TestAccPinnedSources(t *testing.T) {
	t.Parallel()
	const planned, other = "planned", "other"
	type row struct {
		// publish puts the planned content into the source, and returns the configuration.
		publish func(t *testing.T, o *sourceFixture) string
		// changed changes the source after the plan.
		changed func(t *testing.T, o *sourceFixture)
		// installed is true if the bundle is deployed before, and planned again with other options.
		installed bool
		// created is true if the bundle is a resource that the plan creates. Before Terraform 1.16 no
		// private data pins it, and Terraform itself stops the apply.
		created bool
		// says is in the error. Without it, the apply runs what was planned.
		says []string
	}
	nothing := func(*testing.T, *sourceFixture) {}
	inRepository := func(version string) func(t *testing.T, o *sourceFixture) string {
		return func(t *testing.T, o *sourceFixture) string {
			t.Helper()
			o.charts.AddChart(o.chart("1.0.0", planned))
			return o.fleet(t, "  repo: "+o.charts.RepositoryURL()+"\n  chart: one\n  version: "+version+"\n")
		}
	}
	inRegistry := func(t *testing.T, o *sourceFixture) string {
		t.Helper()
		o.charts.PushChart("acme/one", o.chart("1.0.0", planned))
		return o.fleet(t, "  chart: "+o.charts.RegistryURL("acme/one")+"\n  version: ~1\n")
	}
	inGit := func(t *testing.T, o *sourceFixture) string {
		t.Helper()
		o.commit(t, "charts", chartFiles(o.chart("1.0.0", planned)))
		return o.fleet(t, "  chart: git::"+o.git.URL("charts")+"//one?ref=main\n")
	}
	dependency := func(t *testing.T, o *sourceFixture) string {
		t.Helper()
		o.charts.AddChart(o.chart("1.0.0", planned))
		o.commit(t, "fleet", map[string]string{
			"fleet.yaml":       "name: one\ndefaultNamespace: " + o.namespace + "\nhelm: {chart: chart}\n",
			"chart/Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: one, version: ~1, repository: %q}]\n", o.charts.RepositoryURL()),
		})
		return o.data()
	}
	tests := map[string]row{
		"a branch that moves": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", o.raw(planned))
				return o.data()
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.commit(t, "fleet", o.raw(other)) },
		},
		"a commit that was overwritten by an equal one": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", o.raw(planned))
				return o.data()
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.forcePush(t, "fleet", o.raw(planned)) },
		},
		"a commit that was overwritten": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", o.raw(planned))
				return o.data()
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.forcePush(t, "fleet", o.raw(other)) },
			says:    []string{"bundle one", "commit ", "may have been deleted or overwritten", "has digest v1-", "and digest v1-"},
		},
		"a commit of an installed repository that was overwritten": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", bare(planned))
				return o.bundle(fmt.Sprintf("git = { repo = %q, revision = \"main\" }", o.git.URL("fleet")))
			},
			changed:   func(t *testing.T, o *sourceFixture) { t.Helper(); o.forcePush(t, "fleet", bare(other)) },
			installed: true,
			says:      []string{"could not be fetched from", "may have been deleted or overwritten"},
		},
		"a branch of an installed bundle that moves": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", bare(planned))
				return o.bundle(fmt.Sprintf("git = { repo = %q, revision = \"main\" }", o.git.URL("fleet")))
			},
			changed:   func(t *testing.T, o *sourceFixture) { t.Helper(); o.commit(t, "fleet", bare(other)) },
			installed: true,
		},
		"a repository that is gone": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.commit(t, "fleet", o.raw(planned))
				return o.data()
			},
			changed: func(t *testing.T, o *sourceFixture) {
				t.Helper()
				if err := o.git.Delete("fleet"); err != nil {
					t.Fatal(err)
				}
			},
			says: []string{"bundle one", "fleet"},
		},
		"a constraint that a newer version meets": {
			publish: inRepository("~1"),
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.1.0", other)) },
		},
		"a version that is published again": {
			publish: inRepository("~1"),
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.0.0", other)) },
			says:    []string{"bundle one", "version 1.0.0 was fetched with digest", "when it was planned, and has digest", "published again"},
		},
		"an exact version that is published again": {
			publish: inRepository("1.0.0"),
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.0.0", other)) },
			says:    []string{"bundle one", "version 1.0.0 was fetched with digest", "when it was planned, and has digest", "published again"},
		},
		"a version that is withdrawn": {
			publish: inRepository("~1"),
			changed: func(_ *testing.T, o *sourceFixture) {
				o.charts.AddChart(o.chart("1.1.0", other))
				o.charts.RemoveChart("one", "1.0.0")
			},
			says: []string{"bundle one", `no version "1.0.0"; available: 1.1.0`},
		},
		"a version of an installed bundle that is published again": {
			publish: func(_ *testing.T, o *sourceFixture) string {
				o.charts.AddChart(o.chart("1.0.0", planned))
				return o.bundle(fmt.Sprintf("chart = { repo = %q, name = \"one\", version = \"~1\" }", o.charts.RepositoryURL()))
			},
			changed:   func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.0.0", other)) },
			installed: true,
			says:      []string{"version 1.0.0 was fetched with digest", "published again"},
		},
		"a new bundle whose version is published again": {
			publish: func(_ *testing.T, o *sourceFixture) string {
				o.charts.AddChart(o.chart("1.0.0", planned))
				return o.bundle(fmt.Sprintf("chart = { repo = %q, name = \"one\", version = \"1.0.0\" }", o.charts.RepositoryURL()))
			},
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.0.0", other)) },
			created: true,
			says:    []string{"version 1.0.0 was fetched with digest", "when it was planned, and has digest", "published again"},
		},
		"a tag that is moved": {
			publish: inRegistry,
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.PushChart("acme/one", o.chart("1.0.0", other)) },
		},
		"a tag that is moved from what is gone": {
			publish: inRegistry,
			changed: func(_ *testing.T, o *sourceFixture) {
				reference := o.charts.Reference("acme/one", "1.0.0")
				o.charts.PushChart("acme/one", o.chart("1.0.0", other))
				o.charts.DeleteManifest("acme/one", reference)
			},
			says: []string{"bundle one", "version 1.0.0 was fetched with digest", "published again"},
		},
		"a tag that is gone": {
			publish: inRegistry,
			changed: func(_ *testing.T, o *sourceFixture) {
				o.charts.PushChart("acme/one", o.chart("1.1.0", other))
				o.charts.DeleteManifest("acme/one", o.charts.Reference("acme/one", "1.0.0"))
				o.charts.DeleteManifest("acme/one", "1.0.0")
			},
			says: []string{"bundle one", `no version "1.0.0"; available: 1.1.0`},
		},
		"an archive that changes": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				return o.fleet(t, "  chart: "+o.charts.AddFile("/one.tgz", o.chart("1.0.0", planned).Package())+"\n")
			},
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddFile("/one.tgz", o.chart("1.0.0", other).Package()) },
			says:    []string{"bundle one", "/one.tgz", "it was fetched with digest", "published again"},
		},
		"a chart in git that changes": {
			publish: inGit,
			changed: func(t *testing.T, o *sourceFixture) {
				t.Helper()
				o.commit(t, "charts", chartFiles(o.chart("1.0.0", other)))
			},
		},
		"a chart in git that was overwritten": {
			publish: inGit,
			changed: func(t *testing.T, o *sourceFixture) {
				t.Helper()
				o.forcePush(t, "charts", chartFiles(o.chart("1.0.0", other)))
			},
			says: []string{"bundle one", "commit ", "/charts"},
		},
		"a dependency of which a newer version appears": {
			publish: dependency,
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.1.0", other)) },
		},
		"a dependency that is published again": {
			publish: dependency,
			changed: func(_ *testing.T, o *sourceFixture) { o.charts.AddChart(o.chart("1.0.0", other)) },
			says:    []string{"dependencies of chart chart of bundle one", "published again"},
		},
		"a folder that changes": {
			publish: func(t *testing.T, o *sourceFixture) string {
				t.Helper()
				o.keepIn(t, planned)
				return fmt.Sprintf("data \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  directory = %q\n}\n", o.dir)
			},
			changed: func(t *testing.T, o *sourceFixture) { t.Helper(); o.keepIn(t, other) },
			says:    []string{"one in directory", "has digest v1-", "and digest v1-"},
		},
		"nothing that changes": {publish: inRegistry, changed: nothing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			o := &sourceFixture{gate: newGate(t, 1), git: gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true}), charts: charttest.New(t, charttest.Options{}), dir: t.TempDir()}
			o.become(t, "apply", role(t, "apply"))
			config := test.publish(t, o)
			bundles := "fleet_bundle.one.bundles"
			if strings.HasPrefix(config, "data") {
				bundles = "data.fleet_gitrepo.one.bundles"
			}
			configure := func(value string) {
				t.Helper()
				// The bundle fine is first by name, and has no error.
				w.configure(t, o.provider(o.reachable(), on), config, o.fixture.bundle("fine", value), target("", bundles, "fleet_bundle.fine.bundles"))
			}
			configure("first")
			want := ""
			if test.installed {
				w.apply(t)
				want = "first"
				config = strings.Replace(config, "  name = ", "  labels = { changed = \"yes\" }\n  helm = { values = yamlencode({ more = \"\" }) }\n  name = ", 1)
				configure("second")
			}
			w.run(t, "plan", "-input=false", "-out=tfplan")
			test.changed(t, o)
			o.record()
			if test.created && !w.keepsPrivateData(t) {
				test.says = []string{"inconsistent final plan"}
			}
			if len(test.says) == 0 {
				w.run(t, "apply", "-input=false", "tfplan")
				if got := o.value(t, 0, "one"); got != planned {
					t.Errorf("the cluster has %q, want %q", got, planned)
				}
				return // The namespace is removed with all that is in it.
			}
			w.fail(t, []string{"apply", "-input=false", "tfplan"}, test.says...)
			if written := slices.DeleteFunc(o.recorded()[0], faulttest.Call.Reads); len(written) > 0 {
				t.Errorf("the cluster was touched: %v", written)
			}
			if want == "" {
				o.expectNothing(t, 0)
				return
			}
			if got := o.value(t, 0, "fine"); got != want {
				t.Errorf("a bundle that nothing is wrong with has %q, want %q", got, want)
			}
		})
	}
}

// chartFiles are the files of a chart in a folder of its name.
func chartFiles(chart charttest.Chart) map[string]string {
	files := map[string]string{chart.Name + "/Chart.yaml": "apiVersion: v2\nname: " + chart.Name + "\nversion: " + chart.Version + "\n"}
	for name, content := range chart.Files {
		files[chart.Name+"/"+name] = content
	}
	return files
}
