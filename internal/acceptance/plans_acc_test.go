package acceptance_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

var updatePlans = flag.Bool("update", false, "write the plans of testdata/plans anew") //nolint:gochecknoglobals // a flag of the test binary

// failureCase is a plan that a person has to approve. prepare makes the existing objects and writes
// the configuration that is planned.
type failureCase struct {
	prepare func(t *testing.T, s *fixture, w *workspace)
	// mend writes a configuration that can be destroyed, if the planned one cannot.
	mend func(t *testing.T, s *fixture, w *workspace)
	// args are further arguments of the plan.
	args []string
	// fails is true if there is no plan.
	fails bool
}

// The plans of typical situations, as users read them. Run with -update, and read the plans before
// you commit them, as a person who has to approve them.
func TestAccPlanTexts(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, situation := range failureCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			situation.prepare(t, s, w)
			output, err := w.try(t, append([]string{"plan", "-input=false"}, situation.args...)...)
			if (err != nil) != situation.fails {
				t.Fatalf("planning: %v\n%s", err, output)
			}
			expectPlan(t, name, normalPlan(output, s.namespace))
			if situation.mend != nil {
				situation.mend(t, s, w)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "terraform.tfstate")); err == nil {
				w.run(t, "destroy", "-auto-approve")
			}
		})
	}
}

func expectPlan(t *testing.T, name, got string) {
	t.Helper()
	expectRecorded(t, filepath.Join("testdata", "plans", strings.ReplaceAll(name, " ", "-")+".txt"), got)
}

// expectRecorded compares a text of a plan with a file, which -update writes.
func expectRecorded(t *testing.T, path, got string) {
	t.Helper()
	if *updatePlans {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the plan differs from %s (-want +got); -update writes it:\n%s", path, diff)
	}
}

// normalPlan removes from a plan what differs from run to run and between Terraform and OpenTofu.
// Generated names have the same length, so that lines break alike.
func normalPlan(output, namespace string) string {
	text := strings.NewReplacer("OpenTofu", "Terraform", "so it must be replaced", "so must be replaced", namespace, "test-000000").Replace(output)
	text = regexp.MustCompile(`(?s)\nWarning: Provider development overrides.*?releases\.\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^.*: (Refreshing state|Reading|Read complete|Still reading).*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?s)^.*?(\nTerraform will perform the following actions:)`).ReplaceAllString(text, "$1")
	text = regexp.MustCompile(`(?m)^  on main\.tf line \d+, in .*\n +\d+: .*\n`).ReplaceAllString(text, "")
	// OpenTofu lists write-only attributes with each change. Terraform hides those that are not set
	// among the unchanged attributes.
	text = regexp.MustCompile(`(?m)^      [~+-] (values|files)_wo +=.*\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`# \(\d+ unchanged attributes hidden\)`).ReplaceAllString(text, "# (some unchanged attributes hidden)")
	text = strings.ReplaceAll(text, `message   = "" -> (known after apply)`, "message   = null -> (known after apply)")
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:00000")
	text = regexp.MustCompile(`\b[A-Z2-7]{26}\b`).ReplaceAllString(text, "SOME-ID")
	text = numbered(text, `v1-[0-9a-f]{32}`, "v1-digest-%d")
	text = numbered(text, `v0\.0\.0\+[0-9a-f]{12}`, "v0.0.0+content-%d")
	text = numbered(text, `"[0-9a-f]{12}"`, `"hash-%d"`)
	text = numbered(text, ` [0-9a-f]{12}"`, ` hash-%d"`)
	text = numbered(text, ` [0-9a-f]{8}"`, ` digits-%d"`)
	text = regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(text, "")
	return strings.TrimSpace(text) + "\n"
}

// numbered replaces each match with a number, and equal matches with the same number.
func numbered(text, pattern, name string) string {
	known := map[string]string{}
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(text, func(found string) string {
		if known[found] == "" {
			known[found] = fmt.Sprintf(name, len(known)+1)
		}
		return known[found]
	})
}

// down is cluster c at an address where no server responds.
func (s *fixture) down(provider string) string {
	at := fmt.Sprintf("c = { config_path = %q, config_context = %q,", s.env.Kubeconfig(), s.env.Contexts()[2])
	return strings.Replace(provider, at, `c = { host = "https://127.0.0.1:1", token = "x", insecure = true,`, 1)
}

func failureCases() map[string]failureCase {
	const web, logs = "fleet_bundle.web.bundles", "fleet_bundle.logs.bundles"
	return map[string]failureCase{
		"first create on three clusters": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, on), s.workload("web"), s.bundle("logs", "x"), target("", web, logs))
		}},
		"a value changes everywhere": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			for _, value := range []string{"x", "y"} {
				w.configure(t, s.provider("", on, on, on), s.workload("web"), s.bundle("logs", value), target("", web, logs))
				if value == "x" {
					w.apply(t)
				}
			}
		}},
		"a cluster joins and another leaves": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, `on = "no"`), s.workload("web"), s.bundle("logs", "x"), target("", web, logs))
			w.apply(t)
			w.configure(t, s.provider("", on, `on = "no"`, on), s.workload("web"), s.bundle("logs", "x"), target("", web, logs))
		}},
		"a bundle is removed": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, on), s.workload("web"), s.bundle("logs", "x"), target("", web, logs))
			w.apply(t)
			w.configure(t, s.provider("", on, on, on), s.workload("web"), target("", web))
		}},
		"an object moves to another bundle": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, on), s.movingBundle("web", "", false, "web", "shared"), s.bundle("logs", "x"), target("", web, logs))
			w.apply(t)
			w.configure(t, s.provider("", on, on, on), s.movingBundle("web", "", false, "web"), s.movingBundle("logs", "", false, "logs", "shared"),
				target(`diff = "rendered"`, web, logs))
		}},
		"a cluster does not respond": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, on), s.bundle("web", "x"), s.bundle("logs", "x"), target("", web, logs))
			w.apply(t)
			w.configure(t, s.down(s.provider("", on, on, on)), s.bundle("web", "x"), s.bundle("logs", "y"), target(`diff = "rendered"`, web, logs))
		}, mend: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on, on), s.bundle("web", "x"), s.bundle("logs", "y"), target("", web, logs))
		}},
		"objects were edited": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on), s.workload("web"), s.bundle("logs", "x"), target("", web, logs))
			w.apply(t)
			for i := range 2 {
				s.edit(t, i, configMaps, "logs", `{"data":{"key":"edited"}}`)
			}
			s.delete(t, 0, deployments, "web")
		}},
		"a chart with random values": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			for _, version := range []string{"1.0.0", "1.1.0"} {
				w.configure(t, s.provider("", on, on), fmt.Sprintf(`
resource "fleet_bundle" "moody" {
  name              = "moody"
  default_namespace = %q
  files = {
    "Chart.yaml"          = yamlencode({ apiVersion = "v2", name = "moody", version = %q })
    "templates/pass.yaml" = "apiVersion: v1\nkind: Secret\nmetadata: {name: pass}\nstringData: {password: {{ randAlphaNum 12 }}}\n"
  }
}
`, s.namespace, version), target(`diff = "rendered"`, "fleet_bundle.moody.bundles"))
				if version == "1.0.0" {
					w.apply(t)
				}
			}
		}},
		"a cluster that is made in the same apply": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			provider := strings.Replace(s.provider("", on, on), `b = { config_path =`, `b = { config_context_cluster = terraform_data.cluster.id, config_path =`, 1)
			w.configure(t, provider, `resource "terraform_data" "cluster" {}`, s.bundle("web", "x"), target("", web))
		}},
		"a release of plain Helm is refused": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			s.helm4(t, 1, "helm.v1.json")
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), target("", web))
		}},
		"a release of Fleet is taken over": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			s.helm4(t, 0, "fleet.v1.json", "fleet.v2.json")
			changed := strings.NewReplacer("replicas: 1", "replicas: 2", "pause:3.10", "pause:3.9").Replace(s.web())
			w.configure(t, s.provider("", on, on), changed, target("take_ownership = true", web))
		}},
		"a first apply failed in part": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			bad := s.bundleOf("bad", "apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ntype: kubernetes.io/tls\nstringData: {no: key}\n")
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), bad, target("", web, "fleet_bundle.bad.bundles"))
			w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/bad")
		}},
		"a release gets another name": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), target(`diff = "rendered"`, web))
			w.apply(t)
			w.configure(t, s.provider("", on, on), with(s.bundle("web", "x"), `helm = { release_name = "site" }`), target(`diff = "rendered"`, web))
		}},
		"a canary and what is held": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			const strategy = `rollout_strategy = { max_unavailable = "1", partitions = [{ name = "canary", cluster_name = "c" }, { name = "rest", cluster_name = "a" }] }`
			for _, value := range []string{"x", "y"} {
				w.configure(t, s.provider("", on, on, on), with(s.bundle("web", value), strategy), with(s.bundle("logs", value), "paused = "+fmt.Sprint(value == "y")), target("", web, logs))
				if value == "x" {
					w.apply(t)
				}
			}
		}},
		"what changes in objects is shown": {prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			manifest := func(value string) string {
				return configMap("web", value) + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: " + value + "-swordfish, user: same}\n"
			}
			for _, value := range []string{"x", "y"} {
				w.configure(t, s.provider("", on, on, on), s.bundleOf("web", manifest(value)), s.bundle("logs", "x"), target(`diff = "rendered"`, web, logs))
				if value == "x" {
					w.apply(t)
				}
			}
			w.configure(t, s.provider("", on, on, on), s.bundleOf("web", manifest("y")), s.bundle("more", "x"), target(`diff = "rendered"`, web, "fleet_bundle.more.bundles"))
		}},
		"everything is destroyed": {args: []string{"-destroy"}, prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), target("", web))
			w.apply(t)
		}},
		"a label is mistyped": {fails: true, prepare: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), target("", web))
			w.apply(t)
			w.configure(t, s.provider("", `no = "yes"`, `no = "yes"`), s.bundle("web", "x"), target("", web))
		}, mend: func(t *testing.T, s *fixture, w *workspace) {
			t.Helper()
			w.configure(t, s.provider("", on, on), s.bundle("web", "x"), target("", web))
		}},
	}
}
