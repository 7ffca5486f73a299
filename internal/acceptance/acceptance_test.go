package acceptance_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// builtProvider builds the provider once for all tests of the process and returns its folder.
//
//nolint:gochecknoglobals // built at most once and never changed
var builtProvider = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../.build/acceptance")
	if err != nil {
		return "", err
	}
	// The flags are those of make build, so that nothing is compiled twice. Linking is faster
	// without symbols.
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "terraform-provider-fleet"), "../..")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the provider: %w\n%s", err, output)
	}
	return dir, nil
})

// workspace is a folder with a configuration. The real CLI runs the built provider in it, each
// command in processes of its own.
type workspace struct {
	dir string
	cli string
	env []string
	// as is the user who runs the CLI, nil for the user who runs the test.
	as *syscall.SysProcAttr
	// patience limits the time of one command; 0 is five minutes.
	patience time.Duration
	// backend stores the state, nil for a local file.
	backend *stateServer
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	testenv.Require(t)
	bin, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	cli, err := testenv.TerraformCLI(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "terraformrc")
	overrides := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n    %q = %q\n  }\n  direct {}\n}\n",
		"registry.terraform.io/agentless-fleet/fleet", bin, "registry.opentofu.org/agentless-fleet/fleet", bin)
	if err := os.WriteFile(config, []byte(overrides), 0o600); err != nil {
		t.Fatal(err)
	}
	temporary, err := os.MkdirTemp("", "w") //nolint:usetesting // plugins put their sockets there, whose paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(temporary); err != nil {
			t.Error(err)
		}
	})
	// Each command starts the provider several times. The starts are most of the CPU time of a
	// small plan: two keys of P-521 are a quarter of it, and garbage collections of a small heap
	// are an eighth. examples/demo and the benchmarks run as users do.
	cheap := []string{"TF_DISABLE_PLUGIN_TLS=1", "GOGC=" + cmp.Or(os.Getenv("GOGC"), "400")}
	return &workspace{dir: dir, cli: cli, env: append(append(os.Environ(), cheap...),
		"TMPDIR="+temporary, "TF_CLI_CONFIG_FILE="+config, "TF_IN_AUTOMATION=1", "TF_ACC=", "CHECKPOINT_DISABLE=1")}
}

// write writes a file of the configuration.
func (w *workspace) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configure writes the configuration itself.
func (w *workspace) configure(t *testing.T, parts ...string) {
	t.Helper()
	header := "terraform {\n  required_providers {\n    fleet = { source = \"agentless-fleet/fleet\" }\n  }\n}\n"
	w.write(t, "main.tf", header+strings.Join(parts, "\n"))
}

// try runs a command and returns its output. Lines that the CLI has broken are joined.
func (w *workspace) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(w.patience, 5*time.Minute))
	defer cancel()
	command := exec.CommandContext(ctx, w.cli, append(args, "-no-color")...)
	command.Dir, command.Env, command.SysProcAttr = w.dir, w.env, w.as
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return output.String(), err
}

// run runs a command that must succeed.
func (w *workspace) run(t *testing.T, args ...string) string {
	t.Helper()
	output, err := w.try(t, args...)
	if err != nil {
		t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func (w *workspace) apply(t *testing.T) {
	t.Helper()
	w.run(t, "apply", "-auto-approve", "-input=false")
}

// fail runs a command that must fail and print all of want.
func (w *workspace) fail(t *testing.T, args []string, want ...string) string {
	t.Helper()
	output, err := w.try(t, args...)
	if err == nil {
		t.Fatalf("terraform %s succeeded:\n%s", strings.Join(args, " "), output)
	}
	text := unwrapped(output)
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("terraform %s does not say %q:\n%s", strings.Join(args, " "), part, output)
		}
	}
	return output
}

// unwrapped undoes the line breaks and frames of the CLI.
func unwrapped(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}

// expectEmptyPlan plans and wants no changes.
func (w *workspace) expectEmptyPlan(t *testing.T) string {
	t.Helper()
	output, err := w.try(t, "plan", "-detailed-exitcode", "-input=false")
	if err != nil {
		t.Fatalf("the plan is not empty: %v\n%s", err, output)
	}
	return output
}

// plannedChanges plans and returns the deployments that are added (+), changed (~) and removed (-),
// sorted.
func (w *workspace) plannedChanges(t *testing.T) []string {
	t.Helper()
	w.run(t, "plan", "-out=tfplan", "-input=false")
	var plan struct {
		ResourceChanges []struct {
			Type   string `json:"type"`
			Change struct {
				Before       targetShown     `json:"before"`
				After        targetShown     `json:"after"`
				AfterUnknown json.RawMessage `json:"after_unknown"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	shown := w.run(t, "show", "-json", "tfplan")
	if err := json.NewDecoder(strings.NewReader(shown)).Decode(&plan); err != nil {
		t.Fatalf("reading the plan: %v\n%s", err, shown)
	}
	var lines []string
	for _, resource := range plan.ResourceChanges {
		if resource.Type != "fleet_cluster_target" {
			continue
		}
		before, after := resource.Change.Before.Deployments, resource.Change.After.Deployments
		unknown := unknownElements(t, resource.Change.AfterUnknown, "deployments", after)
		written := unknownElements(t, resource.Change.AfterUnknown, "records", before)
		for key := range unknown {
			after[key] = "unknown"
		}
		for key, deployment := range after {
			switch previous, had := before[key]; {
			case !had:
				lines = append(lines, "+ "+key)
			case previous != deployment || written[key]:
				lines = append(lines, "~ "+key)
			}
		}
		for key := range before {
			if _, stays := after[key]; !stays {
				lines = append(lines, "- "+key)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// unknownElements returns the elements of a map that a plan shows as known after the apply. These
// are all of keys if the whole map is unknown.
func unknownElements(t *testing.T, unknown json.RawMessage, attribute string, keys map[string]string) map[string]bool {
	t.Helper()
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(unknown, &attributes); err != nil {
		return nil // A destroyed resource has no unknown values.
	}
	elements := map[string]bool{}
	if string(attributes[attribute]) == "true" {
		for key := range keys {
			elements[key] = true
		}
		return elements
	}
	if err := json.Unmarshal(attributes[attribute], &elements); err != nil {
		return nil
	}
	maps.DeleteFunc(elements, func(_ string, unknown bool) bool { return !unknown })
	return elements
}

// storedTarget is a target in the state as the CLI stores it.
type storedTarget struct {
	name       string
	attributes json.RawMessage
}

// storedTargets reads the targets in the state as the CLI has stored it: "terraform show" takes a
// second and starts the provider for its schema alone.
func (w *workspace) storedTargets(t *testing.T) []storedTarget {
	t.Helper()
	var state struct {
		Resources []struct {
			Type      string `json:"type"`
			Name      string `json:"name"`
			Instances []struct {
				Attributes json.RawMessage `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	raw := w.storedState(t)
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatalf("reading the state: %v\n%s", err, raw)
	}
	var targets []storedTarget
	for _, resource := range state.Resources {
		if resource.Type != "fleet_cluster_target" {
			continue
		}
		for _, instance := range resource.Instances {
			targets = append(targets, storedTarget{name: resource.Name, attributes: instance.Attributes})
		}
	}
	return targets
}

// storedState returns the state as the CLI has stored it.
func (w *workspace) storedState(t *testing.T) []byte {
	t.Helper()
	if w.backend != nil {
		return w.backend.current()
	}
	raw, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// attribute reads an attribute of the only target in state.
func (w *workspace) attribute(t *testing.T, name string, into any) {
	t.Helper()
	targets := w.storedTargets(t)
	if len(targets) != 1 {
		t.Fatalf("%d targets in state, want one:\n%s", len(targets), w.storedState(t))
	}
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(targets[0].attributes, &attributes); err != nil {
		t.Fatalf("reading the target %s: %v", targets[0].name, err)
	}
	if err := json.Unmarshal(attributes[name], into); err != nil {
		t.Fatalf("reading the attribute %s: %v", name, err)
	}
}

// fixture is a set of clusters with a namespace that one test has to itself.
type fixture struct {
	env       *testenv.Env
	namespace string
}

func newFixture(t *testing.T, env *testenv.Env) *fixture {
	t.Helper()
	word := "test-" + rand.String(6)
	s := &fixture{env: env, namespace: word} // Some tests choose another namespace.
	t.Cleanup(func() {
		for i := range env.Contexts() {
			s.cleanUp(t, i, s.namespace)
		}
		ctx, cancel := cleanupContext(t)
		defer cancel()
		// Helm leaves definitions in crds/, and a test that ends early leaves what it has created.
		if err := env.RemoveNamed(ctx, word); err != nil {
			t.Logf("cleaning up after the test: %v", err)
		}
	})
	return s
}

// cleanUp removes a namespace of the test from cluster i. Local clusters end with the test run.
// There, removing a namespace takes about as long as a plan, because all kinds of objects are
// listed. So cleanUp then only removes what slows other tests down: the releases, which every
// refresh lists, and Pods.
//
// Nothing is removed from the namespace default, where tests of other packages work at the same time.
func (s *fixture) cleanUp(t *testing.T, i int, namespace string) {
	t.Helper()
	if namespace == metav1.NamespaceDefault {
		return
	}
	ctx, cancel := cleanupContext(t)
	defer cancel()
	client := s.client(t, i)
	if s.env.External() {
		if err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Logf("removing a namespace of the test: %v", err)
		}
		return
	}
	background := metav1.DeletePropagationBackground
	workloads := client.AppsV1().Deployments(namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	releases := client.CoreV1().Secrets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err := errors.Join(workloads, releases); err != nil {
		t.Logf("cleaning up after the test: %v", err)
	}
}

// cleanupContext outlives the test for long enough to clean up after it.
func cleanupContext(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
}

func (s *fixture) client(t *testing.T, i int) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// provider is the provider block: clusters a, b and c, with the labels given
// for each.
func (s *fixture) provider(extra string, labels ...string) string {
	var block strings.Builder
	fmt.Fprintf(&block, "provider \"fleet\" {\n  owner = %q\n%s\n  clusters = {\n", s.namespace, extra)
	for i, label := range labels {
		if label == "" {
			continue
		}
		fmt.Fprintf(&block, "    %c = { config_path = %q, config_context = %q, labels = { %s } }\n",
			'a'+i, s.env.Kubeconfig(), s.env.Contexts()[i], label)
	}
	block.WriteString("  }\n}\n")
	return block.String()
}

// bundle is a fleet_bundle with one config map.
func (s *fixture) bundle(name, value string) string { return s.bundleOf(name, configMap(name, value)) }

// workload is a fleet_bundle with one deployment.
func (s *fixture) workload(name string) string {
	return s.bundleOf(name, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: "+name+"}\nspec:\n  selector: {matchLabels: {app: "+name+"}}\n"+
		"  template:\n    metadata: {labels: {app: "+name+"}}\n    spec: {containers: [{name: c, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}}]}\n")
}

// podsFit is a deployment_timeout in which the pods of a workload become ready, and which a test can wait
// for. On existing clusters containers have to start.
func (s *fixture) podsFit() string {
	if s.env.External() {
		return "deployment_timeout = \"30s\""
	}
	return "deployment_timeout = \"3s\""
}

func (s *fixture) bundleOf(name, manifest string) string {
	return fmt.Sprintf("resource \"fleet_bundle\" %q {\n  name = %q\n  default_namespace = %q\n  files = { \"m.yaml\" = <<-Y\n%s    Y\n  }\n}\n",
		name, name, s.namespace, indent(manifest))
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  key: \"" + value + "\"\n"
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// target is the fleet_cluster_target "all" over the label on=yes.
func target(extra string, bundles ...string) string {
	return fmt.Sprintf("resource \"fleet_cluster_target\" \"all\" {\n  name = \"all\"\n  bundles = [%s]\n  targets = [{ cluster_selector = { match_labels = { on = \"yes\" } } }]\n%s\n}\n",
		strings.Join(bundles, ", "), extra)
}

// record is one release record on a cluster.
type record struct {
	uid      string
	revision string
	status   string
}

// releases are the newest records of the test's releases on cluster i.
func (s *fixture) releases(t *testing.T, i int) map[string]record {
	t.Helper()
	secrets, err := s.client(t, i).CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,status!=superseded"})
	if err != nil {
		t.Fatalf("listing releases: %v", err)
	}
	found := map[string]record{}
	for _, secret := range secrets.Items {
		found[secret.Labels["name"]] = record{
			uid: string(secret.UID), revision: secret.Labels["version"], status: secret.Labels["status"],
		}
	}
	return found
}

// expectReleases wants exactly these releases on cluster i.
func (s *fixture) expectReleases(t *testing.T, i int, names ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(s.releases(t, i)))
	if !slices.Equal(got, names) {
		t.Errorf("cluster %s has the releases %q, want %q", s.env.Contexts()[i], got, names)
	}
}

// expectNothing wants neither releases nor objects of releases on cluster i.
func (s *fixture) expectNothing(t *testing.T, i int) {
	t.Helper()
	s.expectReleases(t, i)
	managed := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"}
	client := s.client(t, i)
	configMaps, err := client.CoreV1().ConfigMaps(s.namespace).List(t.Context(), managed)
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := client.AppsV1().Deployments(s.namespace).List(t.Context(), managed)
	if err != nil {
		t.Fatal(err)
	}
	services, err := client.CoreV1().Services(s.namespace).List(t.Context(), managed)
	if err != nil {
		t.Fatal(err)
	}
	if left := len(configMaps.Items) + len(deployments.Items) + len(services.Items); left > 0 {
		t.Errorf("%d objects are left on cluster %s", left, s.env.Contexts()[i])
	}
}

// value reads the config map of a bundle made by site.bundle.
func (s *fixture) value(t *testing.T, i int, name string) string {
	t.Helper()
	found, err := s.client(t, i).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.Data["key"]
}

// stop makes a cluster unreachable, or skips the test if the cluster cannot be stopped.
func stop(t *testing.T, cluster *testenv.Cluster) {
	t.Helper()
	if err := cluster.Stop(t.Context()); errors.Is(err, testenv.ErrExternal) {
		t.Skip("existing clusters cannot be stopped")
	} else if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, cluster *testenv.Cluster) {
	t.Helper()
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
