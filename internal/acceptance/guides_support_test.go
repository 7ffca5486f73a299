package acceptance_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// guideFleet is the fleet that the guides describe: the bundle web of a repository, which a target
// deploys as release web to the clusters eu-1 and us-1.
type guideFleet struct {
	*fixture
	*workspace
	git *gittest.Server
	// clusters are the attributes of the entries of the provider.
	clusters map[string]string
	// contexts are the clusters by the names of their contexts.
	contexts map[string]int
	// version is the constraint for the provider.
	version string
	// gitrepo and target are attributes, and rules are the targets of the target.
	gitrepo, target, rules string
	// more is the rest of the configuration.
	more string
}

const inProd = `labels = { env = "prod" }`

func newGuideFleet(t *testing.T) *guideFleet {
	t.Helper()
	f := &guideFleet{
		fixture: newFixture(t, testenv.Shared(t)), workspace: newWorkspace(t), git: gittest.New(t, gittest.Options{}),
		clusters: map[string]string{"eu-1": inProd, "us-1": inProd},
		contexts: map[string]int{"eu-1": 0, "us-1": 1},
		gitrepo:  `branch = "main"`,
		rules:    `targets = [{ cluster_selector = { match_labels = { env = "prod" } } }]`,
	}
	f.workspace.env = append(f.shellEnv(t, f.kubeconfig(), map[string]program{"helm": testenv.HelmCLI, "kubectl": testenv.KubectlCLI}),
		"TF_CLI_ARGS_plan=-input=false", "TF_CLI_ARGS_apply=-auto-approve -input=false")
	if _, err := f.git.Commit(t.Context(), "fleet", "main", "Deploy web", f.files("blue")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.git.Git(t.Context(), "fleet", "config", "http.receivepack", "true"); err != nil {
		t.Fatal(err)
	}
	f.shell(t, "git clone --quiet "+f.git.URL("fleet")+" fleet")
	f.arrange(t)
	return f
}

// files are the files of the repository: a chart with a workload that has a color, and a test.
func (f *guideFleet) files(color string) map[string]string {
	const pod = "{containers: [{name: c, image: registry.k8s.io/pause:3.10, env: [{name: COLOR, value: {{ .Values.color }}}], readinessProbe: {exec: {command: [/pause, -v]}}}]}"
	return map[string]string{
		"apps/web/fleet.yaml":  "name: web\ndefaultNamespace: " + f.namespace + "\nhelm: {releaseName: web}\n",
		"apps/web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"apps/web/values.yaml": "replicas: 1\ncolor: " + color + "\n",
		"apps/web/templates/web.yaml": configMap("web", "{{ .Values.color }}") + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: {{ .Values.replicas }}\n" +
			"  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: " + pod + "\n",
		"apps/web/templates/test.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n" +
			"spec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: c, image: registry.k8s.io/pause:3.10, command: [/pause, -v]}]}\n",
	}
}

func (f *guideFleet) kubeconfig() string { return filepath.Join(f.dir, "kubeconfig") }

// arrange writes the configuration and the kubeconfig.
func (f *guideFleet) arrange(t *testing.T) {
	t.Helper()
	writeContexts(t, f.fixture.env, f.kubeconfig(), f.contexts)
	var clusters strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.clusters)) {
		fmt.Fprintf(&clusters, "    %s = { config_path = %q, config_context = %[1]q, %[3]s }\n", name, f.kubeconfig(), f.clusters[name])
	}
	version := ""
	if f.version != "" {
		version = fmt.Sprintf(", version = %q", f.version)
	}
	f.write(t, "main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    fleet = { source = "agentless-fleet/fleet"%s }
  }
}
provider "fleet" {
  owner = %q
  clusters = {
%s  }
}
resource "fleet_gitrepo" "apps" {
  name  = "apps"
  repo  = %q
  paths = ["apps/*"]
  %s
}
resource "fleet_cluster_target" "prod" {
  name    = "prod"
  bundles = [fleet_gitrepo.apps.bundles]
  %s
  %s
}
%s
`, version, f.namespace, clusters.String(), f.git.URL("fleet"), f.gitrepo, f.rules, f.target, f.more))
}

// follow writes a whole configuration of a guide in place of that of arrange. Of each connection only
// the path of the kubeconfig is another one.
func (f *guideFleet) follow(t *testing.T, configuration string) {
	t.Helper()
	replaced := strings.NewReplacer("~/.kube/config", filepath.Join(f.dir, "kubeconfig"), `owner = "platform"`, fmt.Sprintf("owner = %q", f.namespace))
	f.write(t, "main.tf", f.here(replaced.Replace(configuration)))
}

// here replaces the namespace and the address that guides use.
func (f *guideFleet) here(text string) string {
	return strings.NewReplacer("shop", f.namespace, "https://github.com/acme/fleet", f.git.URL("fleet")).Replace(text)
}

// try runs commands of a guide in a shell, which ends with the first that fails.
func (f *guideFleet) try(t *testing.T, commands string) (string, error) {
	t.Helper()
	return tryShell(t, f.dir, f.workspace.env, f.here(commands), "")
}

// shell runs commands that must succeed.
func (f *guideFleet) shell(t *testing.T, commands string) string {
	t.Helper()
	output, err := f.try(t, commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, output)
	}
	return output
}

// commit pushes files of the bundle web.
func (f *guideFleet) commit(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		f.write(t, "fleet/"+name, content)
	}
	f.shell(t, "git -C fleet add . && git -C fleet commit --quiet --message=Change && git -C fleet push --quiet")
}

// expectColor wants a color of the release on cluster i.
func (f *guideFleet) expectColor(t *testing.T, i int, want string) {
	t.Helper()
	if got := f.value(t, i, "web"); got != want {
		t.Errorf("cluster %d has %q, want %q", i, got, want)
	}
}

// release is the newest record of the release on cluster i.
func (f *guideFleet) release(t *testing.T, i int) record {
	t.Helper()
	return f.releases(t, i)["web"]
}
