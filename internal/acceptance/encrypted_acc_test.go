package acceptance_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// words are the secrets in the encrypted files of a test.
type words struct{ value, manifest, overlay string }

func (w words) all() []string { return []string{w.value, w.manifest, w.overlay} }

// encryptedRepository has an encrypted values file, an encrypted manifest and an encrypted
// resource of a kustomization.
func (s *fixture) encryptedRepository(t *testing.T, recipient string, secret words) map[string]string {
	t.Helper()
	whole := sopstest.File{Age: []string{recipient}}
	objects := sopstest.File{Age: []string{recipient}, EncryptedRegex: "^(data|stringData)$"}
	options := "defaultNamespace: " + s.namespace + "\n"
	return map[string]string{
		"app/fleet.yaml":  options + "helm: {releaseName: app, valuesFiles: [plain.yaml, secret.yaml]}\n",
		"app/Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"app/plain.yaml":  "word: unset\nport: 1\n",
		"app/secret.yaml": whole.Encrypt(t, "word: "+secret.value+"\nport: 8443\n"),
		"app/templates/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n" +
			"data: {key: 'a {{ .Values.word }} b', port: '{{ add .Values.port 1 }}', coded: '{{ .Values.word | b64enc }}'}\n",
		"db/fleet.yaml":           options + "helm: {releaseName: db}\n",
		"db/plain.yaml":           configMap("db", "shown"),
		"db/secret.yaml":          objects.Encrypt(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: "+secret.manifest+"}\n"),
		"kust/fleet.yaml":         options + "helm: {releaseName: kust}\n",
		"kust/kustomization.yaml": "namePrefix: kust-\nresources: [secret.yaml]\n",
		"kust/secret.yaml":        objects.Encrypt(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: overlay}\ndata: {key: "+secret.overlay+"}\n"),
	}
}

func (s *fixture) secretOf(t *testing.T, name, key string) string {
	t.Helper()
	found, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(found.Data[key])
}

func (s *fixture) configMapOf(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	found, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// formsOf returns the forms in which a secret can be in a text.
func formsOf(secret string) []string {
	return []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret), url.PathEscape(secret)}
}

func expectHidden(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range formsOf(secret) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows %q", where, form)
			}
		}
	}
}

// expectHiddenBelow reads all files in folders except the configuration itself.
func expectHiddenBelow(t *testing.T, folders []string, secrets ...string) {
	t.Helper()
	for _, folder := range folders {
		files := os.DirFS(folder)
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || entry.Name() == "main.tf" {
				return err
			}
			content, err := fs.ReadFile(files, path)
			expectHidden(t, filepath.Join(folder, path), string(content), secrets...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Encrypted files of a repository are decrypted on the clusters, and cannot be read anywhere else.
func TestAccEncryptedFiles(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	git := gittest.New(t, gittest.Options{})
	identity, recipient := sopstest.Age(t)
	foreign, _ := sopstest.Age(t)
	commit := func(secret words) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "fleet", "main", "Change", s.encryptedRepository(t, recipient, secret)); err != nil {
			t.Fatal(err)
		}
	}
	first := words{"a secret+of/values", "a secret+of/manifests", "a secret+of/overlays"}
	commit(first)
	configure := func(key string) {
		t.Helper()
		keys := ""
		if key != "" {
			keys = fmt.Sprintf("  sops = { age_keys = [%q] }\n", key)
		}
		w.configure(t, s.provider(fmt.Sprintf("  cache_dir = %q\n%s", filepath.Join(w.dir, "cache"), keys), on),
			fmt.Sprintf("resource \"fleet_gitrepo\" \"fleet\" {\n  name = \"fleet\"\n  repo = %q\n  branch = \"main\"\n}\n", git.URL("fleet")),
			target("plan_objects = true\ndiff = \"rendered\"", "fleet_gitrepo.fleet.bundles"),
			"data \"fleet_render\" \"all\" {\n  bundles = [fleet_gitrepo.fleet.bundles]\n  targets = [{ cluster_name = \"a\" }]\n}\n",
		)
	}
	w.write(t, "cache/.keep", "")
	temporary := ""
	for _, variable := range w.env {
		if value, ok := strings.CutPrefix(variable, "TMPDIR="); ok {
			temporary = value
		}
	}
	w.env = append(w.env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(w.dir, "trace.log"), "SOPS_AGE_KEY="+identity)

	for name, key := range map[string]string{"no key": "", "another key": foreign} {
		configure(key)
		output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "encrypted by sops", "sops", "secret.yaml")
		expectHidden(t, "the plan with "+name, output, first.all()...)
		s.expectNothing(t, 0)
	}

	configure(identity)
	planned := w.run(t, "plan", "-out=tfplan", "-input=false")
	shown := w.run(t, "show", "-json", "tfplan")
	applied := w.run(t, "apply", "-input=false", "tfplan")
	for where, output := range map[string]string{"the plan": planned, "the plan as JSON": shown, "the apply": applied} {
		expectHidden(t, where, output, first.all()...)
	}
	expectHidden(t, "what is printed", planned+applied, identity)
	if got := s.configMapOf(t, "app").Data; got["key"] != "a "+first.value+" b" || got["port"] != "8444" {
		t.Errorf("the chart was rendered with %v", got)
	}
	if got := s.secretOf(t, "db", "password"); got != first.manifest {
		t.Errorf("the Secret has %q", got)
	}
	if got := s.configMapOf(t, "kust-overlay").Data["key"]; got != first.overlay {
		t.Errorf("the kustomization has %q", got)
	}
	if got := s.value(t, 0, "db"); got != "shown" {
		t.Errorf("the plain manifest has %q", got)
	}
	w.expectEmptyPlan(t)

	objects := w.objects(t)
	if hashes := objects["a/fleet-db"]; len(hashes) != 2 || hashes["ConfigMap/"+s.namespace+"/db"] != hashes["Secret/"+s.namespace+"/db"] {
		t.Errorf("the hashes of objects tell them apart: %v", objects)
	}

	second := words{"another secret+of/values", "another secret+of/manifests", "another secret+of/overlays"}
	commit(second)
	changed := w.run(t, "plan", "-out=tfplan", "-input=false")
	expectSays(t, changed, "fleet-app on a: objects ~1", "encrypted files")
	applied = w.run(t, "apply", "-input=false", "tfplan")
	both := append(first.all(), second.all()...)
	expectHidden(t, "the change", changed+applied+w.run(t, "show", "-json")+w.run(t, "show", "-json", "tfplan"), both...)
	if got := s.secretOf(t, "db", "password"); got != second.manifest {
		t.Errorf("the Secret has %q after the change", got)
	}
	w.expectEmptyPlan(t)
	expectHiddenBelow(t, []string{w.dir, temporary}, append(both, identity)...)

	configure("")
	w.fail(t, []string{"plan", "-input=false"}, "the provider's attribute sops has no keys")
	configure(identity)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// An API server quotes objects that it rejects, and Helm quotes values that do not fit.
func TestAccEncryptedValuesInErrors(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	identity, recipient := sopstest.Age(t)
	const secret = "A_secret+of/values"
	encrypted := sopstest.File{Age: []string{recipient}}.Encrypt(t, "word: "+secret+"\n")
	tests := map[string]map[string]string{
		"a rejected object":  {"templates/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, labels: {x: '{{ .Values.word }}'}}\n"},
		"a schema":           {"values.schema.json": `{"properties": {"word": {"enum": ["x"]}}}`, "templates/app.yaml": configMap("app", "x")},
		"a failing template": {"templates/app.yaml": "{{ fail .Values.word }}"},
		"no YAML":            {"templates/app.yaml": "a: b: {{ .Values.word }}"},
		"another type":       {"templates/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {{ list .Values.word | toJson }}\n"},
	}
	for name, files := range tests {
		w.write(t, "app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
		w.write(t, "app/secret.yaml", encrypted)
		w.write(t, "app/values.schema.json", "{}")
		for file, content := range files {
			w.write(t, "app/"+file, content)
		}
		w.configure(t, s.provider(fmt.Sprintf("  sops = { age_keys = [%q] }\n", identity), on),
			fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  default_namespace = %q\n  directory = \"./app\"\n  helm = { values_files = [\"secret.yaml\"] }\n}\n", s.namespace),
			target("", "fleet_bundle.app.bundles"))
		output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "(sensitive value)")
		expectHidden(t, name, output, secret)
		expectHiddenBelow(t, []string{w.dir}, secret)
		_, _ = w.try(t, "destroy", "-auto-approve")
	}
}

// Keys that cannot be used, and keys that are not known yet.
func TestAccEncryptionKeys(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	identity, recipient := sopstest.Age(t)
	object := sopstest.File{Age: []string{recipient}}.Encrypt(t, configMap("db", "a secret of manifests"))
	w.write(t, "db/secret.yaml", object)
	bundle := fmt.Sprintf("resource \"fleet_bundle\" \"db\" {\n  name = \"db\"\n  default_namespace = %q\n  directory = \"./db\"\n}\n", s.namespace)
	for name, keys := range map[string]string{
		"age key 2: it is not an age identity":            fmt.Sprintf("sops = { age_keys = [%q, \"AGE-SECRET-KEY-1HIDDEN\"] }", identity),
		"pgp key 1: it is not an armored OpenPGP private": "sops = { pgp_keys = [\"AGE-SECRET-KEY-1HIDDEN\"] }",
	} {
		w.configure(t, s.provider("  "+keys+"\n", on), bundle, target("", "fleet_bundle.db.bundles"))
		output := w.fail(t, []string{"plan", "-input=false"}, capitalized(name))
		expectHidden(t, name, output, "HIDDEN", identity)
	}
	w.configure(t, s.provider("  sops = { age_keys = [terraform_data.key.output] }\n", on),
		fmt.Sprintf("resource \"terraform_data\" \"key\" {\n  input = %q\n}\n", identity), bundle, target("", "fleet_bundle.db.bundles"))
	w.apply(t)
	if got := s.value(t, 0, "db"); got != "a secret of manifests" {
		t.Errorf("the object has %q", got)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
