package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The tests TestAttack… act as an attacker. The attacker may push to a repository or serve a chart,
// or write into one namespace. Other attackers run Terraform with another state, write into the
// temporary folder, or respond in place of a cluster. Each test describes what the attacker must
// not reach.

// Labels of this provider on release records, as an attacker reads them.
const (
	attackLabel        = "agentless-fleet.github.io/"
	attackTermsLabel   = attackLabel + "terms"
	attackAccountLabel = attackLabel + "service-account"
)

// outsider is an object in another namespace that no release owns.
type outsider struct {
	*fixture

	uid types.UID
}

// newOutsider makes the object on the first cluster. Its annotations can claim anything.
func newOutsider(t *testing.T, env *testenv.Env, annotations map[string]string) *outsider {
	t.Helper()
	o := &outsider{fixture: newFixture(t, env)}
	o.namespaced(t, 0)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "victim", Annotations: annotations}}
	if annotations != nil {
		object.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	made, err := o.client(t, 0).CoreV1().ConfigMaps(o.namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.uid = made.UID
	return o
}

// manifest names the object.
func (o *outsider) manifest() string { return o.configMap("victim") }

// configMap is a config map in the namespace of the outsider.
func (o *outsider) configMap(name string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\n", name, o.namespace)
}

// expectUntouched wants the object, and no other object that an attacker made beside it.
func (o *outsider) expectUntouched(t *testing.T, after string) {
	t.Helper()
	configMaps, err := o.client(t, 0).CoreV1().ConfigMaps(o.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lives := false
	for _, found := range configMaps.Items {
		switch {
		case found.Name == "victim":
			lives = found.UID == o.uid && found.DeletionTimestamp == nil
		case found.Name != "kube-root-ca.crt":
			t.Errorf("%s: the attacker made ConfigMap %s/%s", after, o.namespace, found.Name)
		}
	}
	if !lives {
		t.Errorf("%s: the victim ConfigMap %s/victim was deleted", after, o.namespace)
	}
}

// newestRecord is the Secret of the newest revision of a release.
func (s *fixture) newestRecord(t *testing.T, i int, name string) *corev1.Secret {
	t.Helper()
	secrets, err := s.client(t, i).CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	var newest *corev1.Secret
	for n := range secrets.Items {
		if newest == nil || versionOf(t, newest) < versionOf(t, &secrets.Items[n]) {
			newest = &secrets.Items[n]
		}
	}
	if newest == nil {
		t.Fatalf("release %s/%s has no record", s.namespace, name)
	}
	return newest
}

func versionOf(t *testing.T, record *corev1.Secret) int {
	t.Helper()
	version, err := strconv.Atoi(record.Labels["version"])
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// tamper changes the content of the newest record of a release on the first cluster. Its name and
// its labels stay.
func (s *fixture) tamper(t *testing.T, name string, change func(content map[string]any)) {
	t.Helper()
	record := s.newestRecord(t, 0, name)
	var content map[string]any
	if err := json.Unmarshal(recorded(t, record.Data["release"]), &content); err != nil {
		t.Fatal(err)
	}
	change(content)
	record.Data["release"] = packed(t, content)
	if _, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// relabel changes labels of the newest record of the release app on the first cluster.
func (s *fixture) relabel(t *testing.T, labels map[string]string) {
	t.Helper()
	record := s.newestRecord(t, 0, "app")
	maps.Copy(record.Labels, labels)
	if _, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// forgeNext creates the next revision of a release on the first cluster, with the content and the
// labels of the newest one, and more labels.
func (s *fixture) forgeNext(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	newest := s.newestRecord(t, 0, name)
	next := versionOf(t, newest) + 1
	var content map[string]any
	if err := json.Unmarshal(recorded(t, newest.Data["release"]), &content); err != nil {
		t.Fatal(err)
	}
	content["version"] = next
	forged := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, next), Labels: newest.Labels},
		Type:       newest.Type, Data: map[string][]byte{"release": packed(t, content)},
	}
	maps.Copy(forged.Labels, map[string]string{"version": strconv.Itoa(next), attackLabel + "revision": strconv.Itoa(next)})
	maps.Copy(forged.Labels, labels)
	if _, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Create(t.Context(), forged, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// forge creates the record of a release that no one installed. It has the labels of the newest
// record of another release, and more labels.
func (s *fixture) forge(t *testing.T, name, from string, labels map[string]string, data []byte) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1." + name + ".v1", Labels: maps.Clone(s.newestRecord(t, 0, from).Labels)},
		Type:       "helm.sh/release.v1", Data: map[string][]byte{"release": data},
	}
	maps.Copy(secret.Labels, map[string]string{"name": name, "version": "1", "status": "deployed", attackLabel + "revision": "1", attackAccountLabel: ""})
	maps.Copy(secret.Labels, labels)
	if _, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// forgedRelease is the content of a forged record.
func forgedRelease(name, namespace, manifest string) map[string]any {
	return map[string]any{
		"name": name, "namespace": namespace, "version": 1, "manifest": manifest,
		"info": map[string]any{"status": "deployed", "first_deployed": "2026-01-01T00:00:00Z", "last_deployed": "2026-01-01T00:00:00Z"},
		"chart": map[string]any{
			"metadata":  map[string]any{"name": name, "version": "1.0.0", "apiVersion": "v2"},
			"templates": []any{},
		},
	}
}

// hook is a hook that makes a config map, in the form of a record.
func (o *outsider) hook(events ...string) map[string]any {
	return map[string]any{
		"name": "hooked", "kind": "ConfigMap", "path": "app/templates/hook.yaml", "manifest": o.configMap("hooked"),
		"events": events, "weight": 0, "delete_policies": []string{"before-hook-creation"},
	}
}

// isThere reports whether the config map of a bundle is on the first cluster.
func (s *fixture) isThere(t *testing.T, name string) bool {
	t.Helper()
	_, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// expectMention wants words in an output, in upper or lower case.
func expectMention(t *testing.T, output string, words ...string) {
	t.Helper()
	text := strings.ToLower(unwrapped(output))
	for _, word := range words {
		if !strings.Contains(text, strings.ToLower(word)) {
			t.Errorf("nothing mentions %q:\n%s", word, output)
		}
	}
}

// destroyOutput destroys and returns the output. A test of an attack only checks that the destroy
// ends, and not whether leftovers are an error or a warning.
func (w *workspace) destroyOutput(t *testing.T, args ...string) string {
	t.Helper()
	return w.output(t, append([]string{"destroy", "-auto-approve", "-input=false"}, args...)...)
}

// applyOutput applies in the same way.
func (w *workspace) applyOutput(t *testing.T, args ...string) string {
	t.Helper()
	return w.output(t, append([]string{"apply", "-auto-approve", "-input=false"}, args...)...)
}

func (w *workspace) output(t *testing.T, args ...string) string {
	t.Helper()
	output, err := w.try(t, args...)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && !ended.Exited():
		t.Errorf("terraform %s did not come to an end:\n%s", strings.Join(args, " "), output)
	case err != nil:
		t.Logf("terraform %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// refuse runs a command that must fail and print all of want. It continues if the command succeeds,
// so that the test also shows what was done.
func (w *workspace) refuse(t *testing.T, args []string, want ...string) string {
	t.Helper()
	output, err := w.try(t, args...)
	if err == nil {
		t.Errorf("terraform %s succeeded", strings.Join(args, " "))
	}
	expectMention(t, output, want...)
	return output
}

// forget removes the state: a killed create leaves none.
func (w *workspace) forget(t *testing.T) {
	t.Helper()
	for _, state := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		if err := os.RemoveAll(filepath.Join(w.dir, state)); err != nil {
			t.Fatal(err)
		}
	}
}

// managed returns the addresses in the state.
func (w *workspace) managed(t *testing.T) string {
	t.Helper()
	listed, err := w.try(t, "state", "list")
	if err != nil && !strings.Contains(listed, "No state file was found") {
		t.Fatalf("terraform state list: %v\n%s", err, listed)
	}
	return listed
}

var printedImport = regexp.MustCompile(`id\s*=\s*"([^"]+)"`)

// importBlock is the block that an error prints, for the target of these tests.
func importBlock(t *testing.T, output string) string {
	t.Helper()
	text := unwrapped(output)
	_, block, found := strings.Cut(text, "import {")
	id := printedImport.FindStringSubmatch(block)
	if !found || id == nil {
		t.Fatalf("no import block is printed:\n%s", output)
	}
	return fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", all, id[1])
}

// weigh runs the provider behind a script that records its processes. The returned function returns
// how much memory one of them had at most while something runs.
func (w *workspace) weigh(t *testing.T) func(run func()) int64 {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("only Linux tells how much memory another process had")
	}
	built, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	watched := &faultSuite{workspace: w, providers: filepath.Join(w.dir, "providers")}
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>%q\nexec %q \"$@\"\n", watched.providers, filepath.Join(built, "terraform-provider-fleet"))
	folder := filepath.Join(w.dir, "weighed")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "terraform-provider-fleet"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(t, "terraformrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n    %q = %q\n  }\n  direct {}\n}\n",
		"registry.terraform.io/agentless-fleet/fleet", folder, "registry.opentofu.org/agentless-fleet/fleet", folder))
	w.env = append(w.env, "GOGC=") // The provider decides when to collect garbage, as at a user's.
	return func(run func()) int64 {
		done := (&peaks{}).watch(t, watched)
		run()
		return done()
	}
}
