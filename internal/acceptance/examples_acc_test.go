package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The examples in docs/ and the HCL of the README must be valid.
func TestAccExamplesAreValid(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	examples := map[string]string{"../../examples/provider/provider.tf": read(t, "../../examples/provider/provider.tf")}
	for _, kind := range []string{"data-sources", "functions", "resources"} {
		files, err := filepath.Glob("../../examples/" + kind + "/*/*.tf")
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no examples of %s: %v", kind, err)
		}
		for _, file := range files {
			examples[file] = read(t, file)
		}
	}
	blocks := regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(read(t, "../../README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("the README shows no HCL")
	}
	for _, block := range blocks {
		examples["README.md"] += block[1]
	}
	guide := regexp.MustCompile("(?s)```hcl\n(terraform {.*?)```").FindStringSubmatch(read(t, "../../templates/guides/hcp-terraform.md.tmpl"))
	if guide == nil {
		t.Fatal("the guide shows no HCL")
	}
	examples["../../templates/hcp-terraform/guide"] = guide[1]
	for name, content := range examples {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(t, "eu-1-ca.pem", "")
			w.write(t, "charts-ca.pem", "")
			w.write(t, "fleet.yaml", "defaultNamespace: web\n")
			switch {
			case name == "README.md":
				w.configure(t, withoutModules(content))
			case strings.Contains(name, "/functions/"):
				w.write(t, "main.tf", "terraform {\n  required_providers {\n    fleet = { source = \"agentless-fleet/fleet\" }\n  }\n}\n"+content)
				// Without a provider block, and without any cluster.
				w.run(t, "apply", "-auto-approve")
				return
			case strings.Contains(content, "provider \"fleet\""):
				w.write(t, "main.tf", content)
			default:
				w.write(t, "provider.tf", read(t, "../../examples/provider/provider.tf"))
				w.write(t, "main.tf", content)
			}
			w.run(t, "validate")
		})
	}
}

// Provider blocks of guides configure the provider, which checks more than their schema.
func TestAccProvidersOfGuides(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	files := map[string]string{
		"policy.yaml":      "apiVersion: fleet.cattle.io/v1alpha1\nkind: Policy\nmetadata: {name: x, namespace: fleet-default}\nallowedServiceAccounts: [x]\n",
		"restriction.yaml": "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepoRestriction\nmetadata: {name: x, namespace: fleet-default}\nallowedServiceAccounts: [x]\n",
		"schedule.yaml":    "apiVersion: fleet.cattle.io/v1alpha1\nkind: Schedule\nmetadata: {name: x, namespace: fleet-default}\nspec: {schedule: 0 0 22 * * MON-FRI, duration: 6h, targets: {clusters: [{clusterGroup: prod}]}}\n",
	}
	for _, guide := range []string{"policies", "windows"} {
		blocks := regexp.MustCompile("(?s)```terraform\n(provider \"fleet\" {\n  owner.*?)```").FindAllStringSubmatch(read(t, "../../templates/guides/"+guide+".md.tmpl"), -1)
		if len(blocks) != 2 {
			t.Fatalf("the guide %s has %d provider blocks with an owner", guide, len(blocks))
		}
		for i, block := range blocks {
			t.Run(fmt.Sprint(guide, i), func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t)
				for name, content := range files {
					w.write(t, name, content)
				}
				w.configure(t, block[1], "data \"fleet_render\" \"none\" {\n  bundles = []\n  targets = [{ all = true }]\n}\n")
				w.run(t, "plan", "-input=false")
			})
		}
	}
}

// withoutModules replaces placeholders for a reader's own modules and variables.
func withoutModules(content string) string {
	return regexp.MustCompile(`\b(module|var)\.[A-Za-z0-9_.]+`).ReplaceAllString(content, `"x"`)
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The scenarios run unchanged, on two clusters, and leave nothing behind.
func TestAccScenarios(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	type data map[string]map[string]string // ConfigMap -> its data
	tests := map[string]struct{ dev, prod data }{
		"groups": {
			dev:  data{"notice": {"text": "You may break this."}},
			prod: data{"notice": {"text": "Handle with care."}},
		},
		"overlays": {
			dev:  data{"settings": {"level": "debug", "color": "green"}},
			prod: data{"settings": {"level": "warn", "color": "green"}, "extra": {"only": "prod"}},
		},
		"kustomize": {
			dev:  data{"dev-settings": {"level": "debug"}},
			prod: data{"prod-settings": {"level": "warn"}},
		},
		"templating": {
			dev:  data{"facts": {"host": "dev.example.com", "region": "nowhere", "env": "dev", "replicas": "2"}},
			prod: data{"facts": {"host": "prod.example.com", "region": "eu", "env": "prod", "replicas": "6"}},
		},
		"values-from": {
			dev:  data{"settings": {"values.yaml": "color: green\n"}, "app": {"color": "green"}},
			prod: data{"settings": {"values.yaml": "color: red\n"}, "app": {"color": "red"}},
		},
		"encrypted": {
			dev:  data{"app": {"color": "green"}},
			prod: data{"app": {"color": "red"}},
		},
		"write-only": {
			dev:  data{"app": {"length": "14"}, "settings": {"color": "green"}},
			prod: data{"app": {"length": "14"}, "settings": {"color": "green"}},
		},
	}
	folders, err := filepath.Glob("../../examples/scenarios/*")
	if err != nil || len(folders) != len(tests) {
		t.Fatalf("%d scenarios, %d of them tested: %v", len(folders), len(tests), err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			if err := os.CopyFS(w.dir, os.DirFS("../../examples/scenarios/"+name)); err != nil {
				t.Fatal(err)
			}
			w.write(t, "test.auto.tfvars", fmt.Sprintf("kubeconfig = %q\ncontexts = { dev = %q, prod = %q }\n", env.Kubeconfig(), env.Contexts()[0], env.Contexts()[1]))
			// The other scenarios ignore this variable.
			w.env = append(w.env, "TF_VAR_age_key="+read(t, "../sops/testdata/age.txt"))
			s := newFixture(t, env)
			s.namespace = "example-" + name
			w.apply(t)
			for i, want := range []data{test.dev, test.prod} {
				found, err := s.client(t, i).CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got := data{}
				for _, item := range found.Items {
					if item.Name != "kube-root-ca.crt" {
						got[item.Name] = item.Data
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("cluster %d (-want +got):\n%s", i, diff)
				}
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectReleases(t, i)
			}
		})
	}
}
