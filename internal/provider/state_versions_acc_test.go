package provider_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// earlier is what a former version of the provider left: its state, and its objects on the cluster.
// testdata/states/README.md describes how it is recorded.
type earlier struct {
	State      json.RawMessage    `json:"state"`
	Secrets    []corev1.Secret    `json:"secrets"`
	ConfigMaps []corev1.ConfigMap `json:"configMaps"`
}

// These texts differ from machine to machine, and a recording has placeholders for them.
func (s *fixture) machine(t *testing.T) map[string]string {
	t.Helper()
	system, err := s.client(t, 0).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{s.env.Kubeconfig(): "KUBECONFIG", s.env.Contexts()[0]: "CONTEXT", string(system.UID): "UID"}
}

// rewritten replaces texts in the attributes and in the private state of each resource, which
// is JSON of base64 in base64.
func rewritten(t *testing.T, state []byte, replace *strings.Replacer) []byte {
	t.Helper()
	var document map[string]any
	decode(t, state, &document)
	for _, resource := range document["resources"].([]any) { //nolint:forcetypeassert // a panic fails the test
		for _, instance := range resource.(map[string]any)["instances"].([]any) { //nolint:forcetypeassert // the same
			fields := instance.(map[string]any) //nolint:forcetypeassert // the same
			text, ok := fields["private"].(string)
			if !ok {
				continue
			}
			packed, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			var private map[string][]byte
			decode(t, packed, &private)
			for key, value := range private {
				private[key] = []byte(replace.Replace(string(value)))
			}
			packed, err = json.Marshal(private)
			if err != nil {
				t.Fatal(err)
			}
			fields["private"] = base64.StdEncoding.EncodeToString(packed)
			if attributes, ok := fields["attributes"].(map[string]any); ok {
				replaceTexts(attributes["records"], replace)
			}
		}
	}
	out, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replaceTexts replaces texts in the elements of a map.
func replaceTexts(values any, replace *strings.Replacer) {
	of, _ := values.(map[string]any)
	for key, value := range of {
		if text, ok := value.(string); ok {
			of[key] = replace.Replace(text)
		}
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// ofVersion is the site of a recording. Names of namespaces are part of digests, so
// each has its own.
func ofVersion(t *testing.T, env *testenv.Env, version string) (*fixture, []string) {
	t.Helper()
	s := newFixture(t, env)
	s.namespace = "state-of-" + version
	return s, []string{s.provider("", on), s.bundle("one", "x"), s.bundle("two", "x"), target("take_ownership = true", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")}
}

// A state that a former version of the provider wrote is read, planned and applied. Its records prove
// nothing, so the releases are written once more, with consent. Their objects stay.
func TestAccStatesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	recordings, err := filepath.Glob("testdata/states/*.json")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, recording := range recordings {
		version := strings.TrimSuffix(filepath.Base(recording), ".json")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			s, config := ofVersion(t, env, version)
			s.restore(t, w, recording)
			w.configure(t, config...)
			before, objects := s.releases(t, 0), s.uids(t)
			if len(before) != 2 || len(objects) == 0 {
				t.Fatalf("the recording holds %d releases and %d objects", len(before), len(objects))
			}
			if diff := cmp.Diff([]string{"~ a/one", "~ a/two"}, w.plannedChanges(t)); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			w.apply(t)
			w.expectEmptyPlan(t)
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
			w.configure(t, s.provider("", on), s.bundle("one", "y"), target("", "fleet_bundle.one.bundles"))
			if diff := cmp.Diff([]string{"- a/two", "~ a/one"}, w.plannedChanges(t)); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			w.apply(t)
			s.expectReleases(t, 0, "one")
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)

			// The same without a refresh, which would add what the state lacks.
			blind := newWorkspace(t)
			s.restore(t, blind, recording)
			blind.configure(t, config...)
			objects = s.uids(t)
			blind.run(t, "apply", "-auto-approve", "-refresh=false")
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects without a refresh (-before +after):\n%s", diff)
			}
			blind.configure(t, s.provider("", on), s.bundle("one", "y"), target("take_ownership = true", "fleet_bundle.one.bundles"))
			blind.run(t, "apply", "-auto-approve", "-refresh=false")
			s.expectReleases(t, 0, "one")
			blind.run(t, "destroy", "-auto-approve", "-refresh=false")
			s.expectNothing(t, 0)
		})
	}
}

// restore puts a recording on the first cluster and into a workspace.
func (s *fixture) restore(t *testing.T, w *workspace, recording string) {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	var left earlier
	decode(t, text, &left)
	client := s.client(t, 0).CoreV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := client.Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, secret := range left.Secrets {
		if _, err := client.Secrets(s.namespace).Create(t.Context(), &secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range left.ConfigMaps {
		if _, err := client.ConfigMaps(s.namespace).Create(t.Context(), &object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var pairs []string
	for here, placeholder := range s.machine(t) {
		pairs = append(pairs, placeholder, here)
	}
	w.write(t, "terraform.tfstate", string(rewritten(t, left.State, strings.NewReplacer(pairs...))))
}

// A recording is made by hand, once for a version. FLEET_RECORD_STATE contains the name of the
// version and the folder of its binary, as in "v1.0.0=/tmp/old".
func TestAccRecordState(t *testing.T) {
	version, folder, ok := strings.Cut(os.Getenv("FLEET_RECORD_STATE"), "=")
	if !ok {
		t.Skip("nothing is to be recorded")
	}
	w := newWorkspace(t)
	s, config := ofVersion(t, testenv.Shared(t), version)
	w.write(t, "terraformrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n    %q = %q\n  }\n  direct {}\n}\n",
		"registry.terraform.io/agentless-fleet/fleet", folder, "registry.opentofu.org/agentless-fleet/fleet", folder))
	w.configure(t, config...)
	w.apply(t)
	defer w.run(t, "destroy", "-auto-approve")
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for here, placeholder := range s.machine(t) {
		pairs = append(pairs, here, placeholder)
	}
	left := earlier{State: rewritten(t, state, strings.NewReplacer(pairs...))}
	secrets, err := s.client(t, 0).CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		left.Secrets = append(left.Secrets, corev1.Secret{ObjectMeta: stripped(secret.ObjectMeta), Type: secret.Type, Data: secret.Data})
	}
	for _, object := range configMaps.Items {
		left.ConfigMaps = append(left.ConfigMaps, corev1.ConfigMap{ObjectMeta: stripped(object.ObjectMeta), Data: object.Data})
	}
	text, err := json.MarshalIndent(left, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "states", version+".json"), append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stripped returns the metadata that the author of an object sets.
func stripped(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations}
}
