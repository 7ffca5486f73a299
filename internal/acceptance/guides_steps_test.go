package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
)

// guideTests prepares each guide whose commands TestAccGuides runs, and returns a step for each
// block of them.
func guideTests() map[string]func(t *testing.T) []guideStep {
	return map[string]func(t *testing.T) []guideStep{
		"after-failed-apply": afterFailedApply,
		"roll-back":          rollBack,
		"look-inside":        lookInside,
		"retire":             retire,
		"upgrade-provider":   upgradeProvider,
		"large-changes":      largeChanges,
		"migrate":            migrate,
	}
}

const (
	refused     = "apiVersion: v1\nkind: Service\nmetadata: {name: refused}\nspec: {ports: [{port: 99999999}]}\n"
	refusedFile = "apps/web/templates/refused.yaml"
	valuesFile  = "apps/web/values.yaml"
)

func afterFailedApply(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	var before []record
	f.target = f.podsFit()
	f.arrange(t)
	f.apply(t)
	return []guideStep{
		{begins: "terraform apply", in: f, fails: true, before: func(t *testing.T) {
			t.Helper()
			f.forbidPods(t, 1)
			f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: green\n"})
		}, after: func(t *testing.T, output string) {
			t.Helper()
			expectMention(t, unwrapped(output), "Deployments: us-1/web", "Cause: ", "Now: us-1/web is ErrApplied", "Next: ")
			f.expectColor(t, 0, "green")
		}},
		{begins: "terraform plan\nhelm history", in: f, after: func(t *testing.T, output string) {
			t.Helper()
			expectMention(t, unwrapped(output), "deployments +0 ~1 -0 =1", "web on us-1", "failed")
		}},
		{begins: "terraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			f.allowPods(t, 1)
			f.target = "" // The controller makes longer pauses after each refused pod.
			f.arrange(t)
			before = []record{f.release(t, 0)}
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 1, "green")
			if after := f.release(t, 0); after != before[0] {
				t.Errorf("the finished release was %v and is %v", before[0], after)
			}
		}},
		{begins: "git -C fleet revert", in: f, before: func(t *testing.T) {
			t.Helper()
			f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: red\n", refusedFile: refused})
			f.fail(t, applying, "99999999")
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 0, "green")
			f.expectAtomic(t)
		}},
		{begins: "terraform apply", by: "TestAccKillDuringUpgrade"},
		{begins: "cp terraform.tfstate.backup terraform.tfstate", in: f, before: func(t *testing.T) {
			t.Helper()
			f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: white\n"})
			f.apply(t)
			before = []record{f.release(t, 0), f.release(t, 1)}
			state := string(f.storedState(t))
			f.write(t, "terraform.tfstate", state[:len(state)/2])
			if output, err := f.try(t, "terraform plan"); err == nil {
				t.Errorf("Terraform reads a state that is cut off:\n%s", output)
			}
			f.write(t, "terraform.tfstate", "")
			expectMention(t, unwrapped(f.shell(t, "terraform plan")), "releases of its owner and name already exist")
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			if after := []record{f.release(t, 0), f.release(t, 1)}; !slices.Equal(before, after) {
				t.Errorf("releases were %v and are %v", before, after)
			}
			f.expectColor(t, 0, "white")
			f.expectEmptyPlan(t)
		}},
	}
}

// expectAtomic wants what the guide says of atomic: the former content in one more revision, and
// another upgrade in the next apply.
func (f *guideFleet) expectAtomic(t *testing.T) {
	t.Helper()
	fleet := func(atomic bool) map[string]string {
		return map[string]string{"apps/web/fleet.yaml": fmt.Sprintf("name: web\ndefaultNamespace: %s\nhelm: {releaseName: web, atomic: %t}\n", f.namespace, atomic)}
	}
	f.commit(t, fleet(true))
	f.apply(t)
	was := f.release(t, 0)
	f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: black\n", refusedFile: refused})
	f.fail(t, applying, "99999999")
	f.expectColor(t, 0, "green")
	if after := f.release(t, 0); after.status != "deployed" || after == was {
		t.Errorf("the release was %v and is %v", was, after)
	}
	expectMention(t, unwrapped(f.shell(t, "terraform plan")), "deployments +0 ~2 -0 =0")
	f.shell(t, "git -C fleet revert --no-edit HEAD && git -C fleet push")
	f.apply(t)
	f.expectEmptyPlan(t)
}

func rollBack(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	blocks := guideConfiguration(t, "roll-back")
	variable, _, _ := strings.Cut(blocks[0], "resource ")
	f.gitrepo, f.more = "branch = var.revision == null ? \"main\" : null\n  revision = var.revision", variable
	f.arrange(t)
	f.apply(t)
	f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: green\n"})
	f.apply(t)
	const key = "adoption_key = terraform_data.prod.id\n"
	more, rules := variable+"resource \"terraform_data\" \"prod\" {}\n", f.rules
	var before record
	behind := func(commit, rules string) string {
		block := regexp.MustCompile(`revision = "[0-9a-f]{40}"`).ReplaceAllLiteralString(f.here(blocks[1]), fmt.Sprintf("revision = %q", commit))
		return more + regexp.MustCompile(`(?m)^ *targets .*\n`).ReplaceAllLiteralString(block, rules)
	}
	const only = `targets      = [{ cluster_name = "us-1" }]`
	var commit string
	return []guideStep{
		{begins: "terraform state show", in: f, after: func(t *testing.T, output string) {
			t.Helper()
			commit = strings.TrimSpace(f.shell(t, "git -C fleet rev-parse HEAD"))
			expectMention(t, output, commit, commit[:7])
		}},
		{begins: "terraform plan -var revision=", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 0, "blue")
			f.apply(t) // The branch is followed again.
			f.expectColor(t, 0, "green")
		}},
		{begins: "terraform plan\nterraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			before = f.release(t, 1)
			f.more, f.target = more, key
			f.arrange(t)
			f.apply(t)
			if after := f.release(t, 1); after.revision != before.revision {
				t.Errorf("the adoption key made of %v %v", before, after)
			}
			if !strings.Contains(blocks[1], only) {
				t.Fatalf("the second target of the guide does not select us-1:\n%s", blocks[1])
			}
			commit = strings.TrimSpace(f.shell(t, "git -C fleet rev-parse HEAD~1"))
			f.clusters["us-1"] = `labels = { env = "prod", behind = "true" }`
			f.rules, f.target = blocks[2], key+"depends_on = [fleet_cluster_target.behind]"
			f.more = behind(commit, only+"\n")
			f.arrange(t)
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 0, "green")
			f.expectColor(t, 1, "blue")
			before = f.release(t, 1)
			f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: red\n"})
			f.apply(t)
			f.expectColor(t, 0, "red")
			f.expectColor(t, 1, "blue")
			if after := f.release(t, 1); after != before {
				t.Errorf("the release that stays behind was %v and is %v", before, after)
			}
			f.expectEmptyPlan(t)
		}},
		{begins: "terraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			f.clusters["us-1"], f.rules, f.target = inProd, blocks[2], key
			f.more = behind(commit, blocks[3])
			f.arrange(t)
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 1, "red")
			f.more, f.rules = more, rules
			f.arrange(t)
			f.apply(t)
			if after := f.release(t, 1); after.revision != next(t, before.revision) {
				t.Errorf("the release was %v and is %v", before, after)
			}
			f.expectEmptyPlan(t)
		}},
	}
}

// guideConfiguration returns the blocks of a guide that are marked as terraform.
func guideConfiguration(t *testing.T, guide string) []string {
	t.Helper()
	var blocks []string
	for _, found := range regexp.MustCompile("(?ms)^ *```terraform\n(.*?)^ *```$").FindAllStringSubmatch(read(t, guides+guide+".md.tmpl"), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// next is the revision after another one.
func next(t *testing.T, revision string) string {
	t.Helper()
	var number int
	if _, err := fmt.Sscan(revision, &number); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(number + 1)
}

func lookInside(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	f.apply(t)
	var pods []string
	return []guideStep{
		{begins: "helm list", in: f, after: func(t *testing.T, output string) {
			t.Helper()
			expectMention(t, output, "web-1.0.0", "deployed", "kind: Deployment", strings.TrimSpace(f.shell(t, "git -C fleet rev-parse --short HEAD")))
		}},
		{begins: "kubectl --context eu-1 --namespace shop rollout restart", in: f, before: func(t *testing.T) {
			t.Helper()
			pods = f.pods(t, 0)
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			restarted := f.pods(t, 0)
			if slices.Equal(pods, restarted) {
				t.Error("no pod was restarted")
			}
			f.gitrepo = "branch = \"main\"\n  force_sync_generation = 1"
			f.arrange(t)
			before := f.release(t, 0)
			f.apply(t)
			if after := f.release(t, 0); after.revision != next(t, before.revision) {
				t.Errorf("force_sync_generation made of %v %v", before, after)
			}
			if diff := cmp.Diff(restarted, f.pods(t, 0)); diff != "" {
				t.Errorf("force_sync_generation restarts pods (-before +after):\n%s", diff)
			}
		}},
		{begins: "helm test", in: f},
		{begins: "kubectl --context eu-1 --namespace shop scale", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			if got := f.webField(t, 0, deployments, "spec", "replicas"); got != "1" {
				t.Errorf("%s replicas", got)
			}
			f.shell(t, "helm rollback web 1 --namespace shop --kube-context eu-1")
			f.fail(t, applying, "take_ownership_of")
			f.shell(t, "helm uninstall web --namespace shop --kube-context us-1")
			expectMention(t, f.shell(t, "terraform plan"), `+ "us-1/web"`)
		}},
	}
}

func retire(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	f.apply(t)
	var uid string
	var former record
	empty := &fixture{env: f.fixture.env, namespace: f.namespace}
	return []guideStep{
		{begins: "terraform plan\nterraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			f.clusters["us-1"] = `labels = { env = "retired" }`
			f.arrange(t)
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			empty.expectNothing(t, 1)
		}},
		{begins: "terraform plan -detailed-exitcode", in: f, before: func(t *testing.T) {
			t.Helper()
			delete(f.clusters, "us-1")
			f.arrange(t)
		}},
		{begins: "terraform plan", in: f, before: func(t *testing.T) {
			t.Helper()
			former = f.release(t, 0)
			f.contexts["eu-1"] = 2
			f.arrange(t)
		}, after: func(t *testing.T, output string) {
			t.Helper()
			uid = output
		}},
		{begins: "kubectl --context eu-1 get namespace kube-system", in: f, after: func(t *testing.T, output string) {
			t.Helper()
			if !strings.Contains(uid, output) {
				t.Errorf("the warning does not have the UID %s:\n%s", output, uid)
			}
			uid = output
		}},
		{begins: "terraform plan\nterraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			f.clusters["eu-1"] = inProd + fmt.Sprintf(", uid = %q", uid)
			f.arrange(t)
		}, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 2, "blue")
			if after := f.release(t, 0); after != former {
				t.Errorf("the release on the former cluster was %v and is %v", former, after)
			}
		}},
	}
}

func upgradeProvider(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	f.mirror(t, "0.1.0", "0.2.0")
	f.version = "~> 0.1.0"
	f.arrange(t)
	f.shell(t, "terraform init")
	f.apply(t)
	return []guideStep{
		{begins: "terraform plan -detailed-exitcode\nterraform state pull", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			if copied := read(t, filepath.Join(f.dir, "before.tfstate")); !strings.Contains(copied, "fleet_cluster_target") {
				t.Errorf("the copy of the state is\n%s", copied)
			}
		}},
		{begins: "terraform init -upgrade", in: f, before: func(t *testing.T) {
			t.Helper()
			f.version = "~> 0.2.0"
			f.arrange(t)
		}, after: func(t *testing.T, output string) {
			t.Helper()
			expectMention(t, output, "/agentless-fleet/fleet v0.2.0")
		}},
	}
}

// mirror makes the provider available under versions, for terraform init.
func (f *guideFleet) mirror(t *testing.T, versions ...string) {
	t.Helper()
	bin, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(f.dir, "mirror")
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		for _, version := range versions {
			into := filepath.Join(folder, host, "agentless-fleet", "fleet", version, runtime.GOOS+"_"+runtime.GOARCH)
			if err := os.MkdirAll(into, 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(bin, "terraform-provider-fleet"), filepath.Join(into, "terraform-provider-fleet_v"+version)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.write(t, "mirror.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", folder))
	f.workspace.env = append(f.workspace.env, "TF_CLI_CONFIG_FILE="+filepath.Join(f.dir, "mirror.tfrc"))
}

func largeChanges(t *testing.T) []guideStep {
	t.Helper()
	f := newGuideFleet(t)
	return []guideStep{
		{begins: "FLEET_REPORT=plan.html:plan.md", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			for name, want := range map[string]string{"plan.html": "<html", "plan.md": "us-1"} {
				if report := read(t, filepath.Join(f.dir, name)); !strings.Contains(report, want) {
					t.Errorf("%s has no %s", name, want)
				}
			}
		}},
		{begins: "FLEET_PROGRESS=progress.log", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			f.expectColor(t, 0, "blue")
		}},
		{begins: "terraform plan -detailed-exitcode", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			f.commit(t, map[string]string{valuesFile: "replicas: 1\ncolor: green\n"})
			expectMention(t, f.shell(t, "TF_LOG_PROVIDER=info terraform apply 2>&1 >/dev/null"), "eu-1/web: upgrading started", "eu-1/web: upgrading finished")
		}},
	}
}

func migrate(t *testing.T) []guideStep {
	t.Helper()
	f, agents := newGuideFleet(t), newGuideFleet(t)
	blocks := guideConfiguration(t, "migrate")
	charts := charttest.New(t, charttest.Options{})
	chart := charttest.Chart{Name: "web", Version: "1.0.0", Files: map[string]string{}}
	for name, content := range f.files("blue") {
		chart.Files[strings.TrimPrefix(name, "apps/web/")] = content
	}
	delete(chart.Files, "fleet.yaml")
	charts.AddChart(chart)
	fromHelm := strings.ReplaceAll(blocks[0], "https://charts.example.com", charts.RepositoryURL())
	for _, cluster := range []string{"eu-1", "us-1"} {
		f.shell(t, "helm install web fleet/apps/web --namespace shop --create-namespace --set color=green --wait --kube-context "+cluster)
	}
	f.write(t, "former/terraform.tfstate", `{"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": [{
		"mode": "managed", "type": "helm_release", "name": "web", "provider": "provider[\"registry.terraform.io/hashicorp/helm\"]", "instances": [{"schema_version": 1, "attributes": {"id": "web"}}]}]}`)
	agents.helm4(t, 0, "fleet.v1.json", "fleet.v2.json")
	agents.shell(t, "git -C fleet rm --quiet -r apps")
	agents.commit(t, map[string]string{
		"apps/web/fleet.yaml":         "defaultNamespace: " + agents.namespace + "\nhelm: {releaseName: web}\n",
		"apps/web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"apps/web/templates/web.yaml": webTemplates,
	})
	var pods []string
	return []guideStep{
		{begins: "helm list", in: f, after: func(t *testing.T, output string) {
			t.Helper()
			expectMention(t, output, "web-1.0.0", "color: green")
			pods = f.pods(t, 0)
		}},
		{begins: "terraform plan", in: f, before: func(t *testing.T) {
			t.Helper()
			f.follow(t, fromHelm)
		}},
		{begins: "terraform plan", in: f, before: func(t *testing.T) {
			t.Helper()
			f.follow(t, strings.Replace(fromHelm, "  targets =", "  take_ownership_of = [\"eu-1/web\", \"us-1/web\"]\n  targets =", 1))
		}},
		{begins: "terraform apply", in: f, after: func(t *testing.T, _ string) {
			t.Helper()
			if diff := cmp.Diff(pods, f.pods(t, 0)); diff != "" {
				t.Errorf("pods were restarted (-before +after):\n%s", diff)
			}
		}},
		{begins: "terraform apply", in: f, before: func(t *testing.T) {
			t.Helper()
			f.follow(t, fromHelm)
		}},
		{begins: "terraform -chdir=former state rm", in: f},
		{begins: "terraform plan", in: agents, before: func(t *testing.T) {
			t.Helper()
			agents.follow(t, blocks[1])
		}},
		{begins: "terraform apply", in: agents, after: func(t *testing.T, _ string) {
			t.Helper()
			if got := agents.release(t, 0); got.revision != "3" || got.status != "deployed" {
				t.Errorf("the release is %v, want revision 3, deployed", got)
			}
		}},
		{begins: "terraform apply", in: agents, before: func(t *testing.T) {
			t.Helper()
			agents.follow(t, strings.Replace(blocks[1], "  take_ownership = true\n", "", 1))
		}},
	}
}
