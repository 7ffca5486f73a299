package acceptance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// faultSuite is a fleet of bundles on the three shared clusters. The connections to its clusters
// can be disturbed, and its processes can be killed. Its state is on a server of its own.
type faultSuite struct {
	*fixture
	*workspace
	proxies []*faulttest.Proxy
	state   *stateServer
	// bundles is the number of bundles.
	bundles int
	// timeout is the timeout of each deployment.
	timeout string
	// guards are change windows and policies of the provider.
	guards string
	// providers is a file to which each process of the provider adds its process ID.
	providers string

	mu        sync.Mutex
	terraform *os.Process
}

func newFaultSuite(t *testing.T, bundles int) *faultSuite {
	t.Helper()
	env := testenv.Shared(t)
	o := &faultSuite{fixture: newFixture(t, env), workspace: newWorkspace(t), state: newStateServer(t), bundles: bundles, timeout: "60s"}
	for i := range env.Contexts() {
		if env.Cluster(i).Token() == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		o.proxies = append(o.proxies, faulttest.New(t, env.Cluster(i)))
	}
	o.install(t)
	return o
}

// install installs the provider for Terraform, behind a script that records the process ID, and
// prepares the server for the state.
func (o *faultSuite) install(t *testing.T) {
	t.Helper()
	built, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	o.providers = filepath.Join(o.dir, "providers")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>%q\nexec %q \"$@\"\n", o.providers, filepath.Join(built, "terraform-provider-fleet"))
	mirror := filepath.Join(o.dir, "mirror")
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(mirror, host, "agentless-fleet", "fleet", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "terraform-provider-fleet_v1.0.0"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o.write(t, "terraformrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	o.workspace.env = append(o.workspace.env, "TF_HTTP_ADDRESS="+o.state.URL, "TF_HTTP_LOCK_ADDRESS="+o.state.URL, "TF_HTTP_UNLOCK_ADDRESS="+o.state.URL)
	o.backend = o.state
	o.write(t, "backend.tf", "terraform {\n  backend \"http\" {}\n}\n")
	o.deploy(t, "first")
	o.run(t, "init", "-input=false")
}

// deploy writes a configuration in which every object of every bundle contains a value. It is for
// all clusters except those that are left out.
func (o *faultSuite) deploy(t *testing.T, value string, without ...string) {
	t.Helper()
	var parts, names []string
	for i := range o.bundles {
		name := "b" + strconv.Itoa(i)
		names = append(names, "fleet_bundle."+name+".bundles")
		parts = append(parts, o.bundleOf(name, o.manifest(i, name, value)))
	}
	o.configureBundles(t, parts, names, fmt.Sprintf("deployment_timeout = %q", o.timeout), without...)
}

// configureBundles writes a configuration with these bundles, given as resources and references.
// options are those of the target.
func (o *faultSuite) configureBundles(t *testing.T, resources, references []string, options string, without ...string) {
	t.Helper()
	var clusters strings.Builder
	for i, proxy := range o.proxies {
		name, label := string(rune('a'+i)), "yes"
		if slices.Contains(without, name) {
			label = "no"
		}
		fmt.Fprintf(&clusters, "    %s = { host = %q, token = %q, labels = { on = %q }, cluster_ca_certificate = <<-CA\n%sCA\n    }\n",
			name, proxy.Host(), o.env0().Cluster(i).Token(), label, proxy.CACertificate())
	}
	provider := fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n%s  clusters = {\n%s  }\n}\n", o.namespace, o.guards, clusters.String())
	o.configure(t, append(resources, provider, target(fmt.Sprintf("%s\nallow_empty = true\nadoption_key = %q", options, o.namespace), references...))...)
}

func (o *faultSuite) env0() *testenv.Env { return o.fixture.env }

// manifest returns the manifest of a bundle. Each has a config map and a service, the first also a
// deployment and the second also a hook.
func (o *faultSuite) manifest(i int, name, value string) string {
	text := configMap(name, value) + "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", annotations: {value: \"" + value + "\"}}\n" +
		"spec: {selector: {app: " + name + "}, ports: [{port: 80}]}\n"
	pod := "{containers: [{name: c, image: \"registry.k8s.io/pause:3.10\"}]"
	switch i {
	case 0:
		text += "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", annotations: {value: \"" + value + "\"}}\nspec:\n" +
			"  selector: {matchLabels: {app: " + name + "}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec: " + strings.Replace(pod, "}]", ", readinessProbe: {exec: {command: [/pause, -v]}}}]", 1) + "}\n"
	case 1:
		text += "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: \"pre-install,pre-upgrade,pre-delete\", helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}\n" +
			"spec:\n  template:\n    metadata: {labels: {hook: \"yes\"}}\n    spec: " + strings.Replace(pod, "}]", ", args: [-v]}]", 1) + ", restartPolicy: Never}\n"
	}
	return text
}

// begin runs a command that may be killed. It returns when the command and every process of the
// provider that the command started have ended.
func (o *faultSuite) begin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, o.cli, append(args, "-no-color")...)
	command.Dir, command.Env = o.dir, o.workspace.env
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	o.mu.Lock()
	err := command.Start()
	o.terraform = command.Process
	o.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = command.Wait()
	eventually(t, "the processes of the provider have ended", func(context.Context) (bool, error) {
		return !slices.ContainsFunc(o.started(t), isRunning), nil
	})
	return output.String(), err
}

// started are the processes of the provider, the newest last.
func (o *faultSuite) started(t *testing.T) []*os.Process {
	t.Helper()
	content, err := os.ReadFile(o.providers)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	var found []*os.Process
	for line := range strings.FieldsSeq(string(content)) {
		number, err := strconv.Atoi(line)
		if err != nil {
			t.Error(err)
			continue
		}
		process, err := os.FindProcess(number)
		if err != nil {
			t.Error(err)
			continue
		}
		found = append(found, process)
	}
	return found
}

func isRunning(process *os.Process) bool { return process.Signal(syscall.Signal(0)) == nil }

// victim is a process to be killed.
type victim string

const (
	theProvider victim = "provider"
	theCLI      victim = "Terraform"
)

// kill kills a process like kill -9. It may be called from any goroutine.
func (o *faultSuite) kill(t *testing.T, who victim) {
	t.Helper()
	o.mu.Lock()
	process := o.terraform
	o.mu.Unlock()
	if who == theProvider {
		started := o.started(t)
		process = started[len(started)-1]
	}
	if err := process.Kill(); err != nil {
		t.Errorf("killing the %s: %v", who, err)
	}
}

// set sets a rule for the proxies of all clusters.
func (o *faultSuite) set(rule faulttest.Rule) {
	for _, proxy := range o.proxies {
		proxy.Set(rule)
	}
}

// disturb disturbs the connections to all clusters.
func (o *faultSuite) disturb(t *testing.T, d faulttest.Disturbance) {
	t.Helper()
	for _, proxy := range o.proxies {
		if err := proxy.Disturb(d); err != nil {
			t.Fatal(err)
		}
	}
}

// view is the content of one cluster: releases, and objects with their UIDs.
type view struct {
	releases map[string]revision
	uids     map[string]string
	values   map[string]string
	// deployed counts the records of each release with the status deployed, and records counts all
	// of its records.
	deployed map[string]int
	records  map[string]int
}

type revision struct {
	number, status, digest string
}

// observe reads all clusters directly, without the proxies.
func (o *faultSuite) observe(t *testing.T) []view {
	t.Helper()
	views := make([]view, len(o.proxies))
	var looking sync.WaitGroup
	for i := range views {
		looking.Go(func() { views[i] = o.observeCluster(t, i) })
	}
	looking.Wait()
	return views
}

func (o *faultSuite) observeCluster(t *testing.T, i int) view {
	t.Helper()
	v := view{releases: map[string]revision{}, uids: map[string]string{}, values: map[string]string{}, deployed: map[string]int{}, records: map[string]int{}}
	ctx, client, all := t.Context(), o.client(t, i), metav1.ListOptions{}
	secrets, err := client.CoreV1().Secrets(o.namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Error(err)
		return v
	}
	for _, secret := range secrets.Items {
		name := secret.Labels["name"]
		v.records[name]++
		if secret.Labels["status"] == "deployed" {
			v.deployed[name]++
		}
		number, err := strconv.Atoi(secret.Labels["version"])
		if err != nil {
			t.Error(err)
		}
		if newest, err := strconv.Atoi(v.releases[name].number); err != nil || newest < number {
			v.releases[name] = revision{secret.Labels["version"], secret.Labels["status"], secret.Labels["agentless-fleet.github.io/digest"]}
		}
	}
	note := func(kind string, meta metav1.ObjectMeta, value string) {
		if meta.Labels["app.kubernetes.io/managed-by"] != "Helm" && meta.Labels["app"] == "" {
			return
		}
		v.uids[kind+"/"+meta.Name] = string(meta.UID)
		if value != "" {
			v.values[kind+"/"+meta.Name] = value
		}
	}
	configMaps, err := client.CoreV1().ConfigMaps(o.namespace).List(ctx, all)
	if err != nil {
		t.Error(err)
		return v
	}
	for _, item := range configMaps.Items {
		note("ConfigMap", item.ObjectMeta, item.Data["key"])
	}
	services, err := client.CoreV1().Services(o.namespace).List(ctx, all)
	if err != nil {
		t.Error(err)
		return v
	}
	for _, item := range services.Items {
		note("Service", item.ObjectMeta, item.Annotations["value"])
	}
	deployments, err := client.AppsV1().Deployments(o.namespace).List(ctx, all)
	if err != nil {
		t.Error(err)
		return v
	}
	for _, item := range deployments.Items {
		note("Deployment", item.ObjectMeta, item.Annotations["value"])
	}
	pods, err := client.CoreV1().Pods(o.namespace).List(ctx, all)
	if err != nil {
		t.Error(err)
		return v
	}
	for _, item := range pods.Items {
		note("Pod", item.ObjectMeta, "")
	}
	return v
}

// expectWhole wants the result of an undisturbed apply: every release deployed once and every
// object present, all with the value, and nothing on clusters that are left out.
func (o *faultSuite) expectWhole(t *testing.T, value string, without ...string) []view {
	t.Helper()
	views := o.observe(t)
	for i, got := range views {
		wantValues, wantDeployed := map[string]string{}, map[string]int{}
		if !slices.Contains(without, string(rune('a'+i))) {
			for b := range o.bundles {
				name := "b" + strconv.Itoa(b)
				wantValues["ConfigMap/"+name], wantValues["Service/"+name], wantDeployed[name] = value, value, 1
				if b == 0 {
					wantValues["Deployment/"+name] = value
				}
			}
		}
		if diff := cmp.Diff(wantValues, got.values); diff != "" {
			t.Errorf("objects on cluster %c (-want +got):\n%s", 'a'+i, diff)
		}
		if diff := cmp.Diff(wantDeployed, got.deployed); diff != "" {
			t.Errorf("deployed revisions on cluster %c (-want +got):\n%s", 'a'+i, diff)
		}
		for name, newest := range got.releases {
			if newest.status != "deployed" {
				t.Errorf("release %s on cluster %c is %s", name, 'a'+i, newest.status)
			}
		}
	}
	return views
}

// expectHealthyUntouched wants that a release that was already deployed as wanted keeps its
// revision, and that no object is created again. Clusters that are left out are not checked.
func expectHealthyUntouched(t *testing.T, before, after []view, without ...string) {
	t.Helper()
	expectSameObjects(t, before, after, without...)
	for i := range before {
		if slices.Contains(without, string(rune('a'+i))) {
			continue
		}
		for name, was := range before[i].releases {
			is := after[i].releases[name]
			if was.status == "deployed" && was.digest == is.digest && was != is {
				t.Errorf("release %s on cluster %c was healthy as %+v and is %+v", name, 'a'+i, was, is)
			}
		}
	}
}

// expectSameObjects wants every object that existed before with the same UID.
func expectSameObjects(t *testing.T, before, after []view, without ...string) {
	t.Helper()
	for i := range before {
		if slices.Contains(without, string(rune('a'+i))) {
			continue
		}
		kept := maps.Clone(after[i].uids)
		maps.DeleteFunc(kept, func(object, _ string) bool { return before[i].uids[object] == "" })
		if diff := cmp.Diff(before[i].uids, kept); diff != "" {
			t.Errorf("objects on cluster %c are not the same (-before +after):\n%s", 'a'+i, diff)
		}
	}
}
