package acceptance_test

import (
	"archive/zip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// planted is a secret in one place, and the server or program that repeats it.
type planted struct {
	*fixture

	w      *workspace
	secret string
	// parrot refuses every request and repeats its headers. In the test of a proxy, the status line
	// of the proxy repeats them.
	parrot *httptest.Server
	// known is a text that the parrot also repeats.
	known string
}

func newPlanted(t *testing.T, env *testenv.Env) *planted {
	t.Helper()
	p := &planted{fixture: newFixture(t, env), w: newWorkspace(t), secret: "planted-" + strings.Repeat("x7/+", 3) + "-secret"}
	p.serve(t, func(w http.ResponseWriter, request *http.Request) {
		said := p.known + request.Header.Get("Authorization")
		_, encoded, _ := strings.Cut(said, " ")
		if pair, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			said += " " + string(pair)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", said))
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":%q,"errors":[{"code":"DENIED","message":%q}]}`, "I repeat "+said, "I repeat "+said) //nolint:gosec // what the test is about
	})
	return p
}

// serve replaces the parrot with another server.
func (p *planted) serve(t *testing.T, handle http.HandlerFunc) {
	t.Helper()
	p.parrot = httptest.NewTLSServer(handle)
	t.Cleanup(p.parrot.Close)
}

func (p *planted) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.parrot.Certificate().Raw}))
}

// variable is the secret in the configuration. It is ephemeral, so Terraform does not store it.
func (p *planted) variable(value string) string {
	p.w.env = append(p.w.env, "TF_VAR_planted="+value)
	return "variable \"planted\" {\n  type = string\n  ephemeral = true\n}\n"
}

// cluster is a provider with one cluster that is the parrot.
func (p *planted) cluster(credentials string) string {
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = { a = { host = %q, cluster_ca_certificate = %q, labels = { on = \"yes\" }, %s } }\n}\n",
		p.namespace, p.parrot.URL, p.authority(), credentials)
}

func (p *planted) whole(provider string) []string {
	return []string{p.variable(p.secret), provider, p.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
}

// repository is a bundle from git, so that no file is in the configuration.
func (p *planted) repository(t *testing.T, files map[string]string) []string {
	t.Helper()
	git := gittest.New(t, gittest.Options{})
	files = maps.Clone(files)
	for name, content := range files {
		files[name] = strings.NewReplacer("SECRET", p.secret, "BASE64", base64.StdEncoding.EncodeToString([]byte(p.secret)), "NAMESPACE", p.namespace).Replace(content)
	}
	if _, err := git.Commit(t.Context(), "app", "main", "App", files); err != nil {
		t.Fatal(err)
	}
	return []string{
		p.provider("", on), fmt.Sprintf("resource \"fleet_gitrepo\" \"one\" {\n  name = \"one\"\n  repo = %q\n  branch = \"main\"\n  target_namespace = %q\n}\n", git.URL("app"), p.namespace),
		target("", "fleet_gitrepo.one.bundles"),
	}
}

// refused makes a webhook that repeats what is written in the namespace.
func (p *planted) refused(t *testing.T, resource string) {
	t.Helper()
	if p.env.External() {
		t.Skip("an existing cluster does not reach a webhook of the test")
	}
	p.env.Cluster(0).RefuseAll(t, p.namespace, resource, admissionregistrationv1.Create, admissionregistrationv1.Update)
}

// secretObject makes the Secret values on the cluster.
func (p *planted) secretObject(t *testing.T, value string) {
	t.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "values"}, StringData: map[string]string{"values.yaml": value}}
	if _, err := p.client(t, 0).CoreV1().Secrets(p.namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// script writes a program.
func (p *planted) script(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(p.w.dir, "login")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+content+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// clientKey is a certificate and its key in PEM.
func clientKey(t *testing.T) (certificate, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "me"}, NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &made.PublicKey, made)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func secretManifest(annotations, field, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {%s}}\n%s: {key: %q}\n", annotations, field, value)
}

// A server or program repeats a secret that is in one place. The secret is not in the state, a
// plan, a log, an error or a file.
func TestAttackPlantedSecrets(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const login = `api_version = "client.authentication.k8s.io/v1", command = %q`
	tests := map[string]struct {
		configure func(t *testing.T, p *planted) []string
		// says is in the output if the secret was really repeated.
		says string
	}{
		"token": {func(_ *testing.T, p *planted) []string { return p.whole(p.cluster("token = var.planted")) }, "I repeat"},
		"password": {func(_ *testing.T, p *planted) []string {
			return p.whole(p.cluster(`username = "me", password = var.planted`))
		}, "I repeat"},
		"client key": {func(t *testing.T, p *planted) []string {
			t.Helper()
			certificate, key := clientKey(t)
			p.secret = strings.Split(key, "\n")[1]
			p.known = p.secret
			return []string{p.variable(key), p.cluster(fmt.Sprintf("client_certificate = %q, client_key = var.planted", certificate)), p.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
		}, "I repeat"},
		"inline kubeconfig": {func(_ *testing.T, p *planted) []string {
			kubeconfig := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
				"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}], "users": [{"name": "c", "user": {"token": %q}}]}`, p.parrot.URL, p.secret)
			return []string{p.variable(kubeconfig), fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = { a = { kubeconfig = var.planted, labels = { on = \"yes\" } } }\n}\n", p.namespace), p.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
		}, "I repeat"},
		"environment of a command": {func(t *testing.T, p *planted) []string {
			t.Helper()
			return p.whole(p.cluster(fmt.Sprintf("exec = { "+login+", env = { PLANTED = var.planted } }",
				p.script(t, `printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' "$PLANTED"`))))
		}, "I repeat"},
		"standard error of a command": {func(t *testing.T, p *planted) []string {
			t.Helper()
			return p.whole(p.cluster(fmt.Sprintf("exec = { "+login+", env = { PLANTED = var.planted } }",
				p.script(t, `echo "$PLANTED first" >&2; echo "I repeat $PLANTED" >&2; exit 1`))))
		}, "I repeat"},
		"argument of a command": {func(t *testing.T, p *planted) []string {
			t.Helper()
			return p.whole(p.cluster(fmt.Sprintf(`exec = { `+login+`, args = ["--client-secret", var.planted] }`, p.script(t, `echo "I repeat $2" >&2; exit 1`))))
		}, "I repeat"},
		"user of a proxy": {func(t *testing.T, p *planted) []string {
			t.Helper()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				connection, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // HTTP/1.1 has it
				if err != nil {
					return
				}
				_, encoded, _ := strings.Cut(request.Header.Get("Proxy-Authorization"), " ")
				pair, _ := base64.StdEncoding.DecodeString(encoded)
				_, _ = fmt.Fprintf(connection, "HTTP/1.1 403 I repeat %s %s\r\n\r\n", encoded, pair)
				_ = connection.Close()
			}))
			t.Cleanup(proxy.Close)
			address := strings.Replace(proxy.URL, "http://", "http://me:"+url.QueryEscape(p.secret)+"@", 1)
			return []string{p.variable(address), p.cluster(`token = "other-token", proxy_url = var.planted`), p.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
		}, "I repeat"},
		"password for git": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.serve(t, func(w http.ResponseWriter, request *http.Request) {
				_, password, _ := request.BasicAuth()
				elsewhere := strings.Replace(p.parrot.URL, "127.0.0.1", "localhost", 1)
				w.Header().Set("Location", elsewhere+"/I-repeat-"+url.QueryEscape(password))
				w.WriteHeader(http.StatusFound)
			})
			return []string{
				p.variable(p.secret), p.provider(fmt.Sprintf("  git = { %q = { username = \"me\", password = var.planted, ca_bundle = %q } }\n", p.parrot.URL, p.authority()), on),
				fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n}\n", p.parrot.URL+"/app"),
			}
		}, "I-repeat"},
		"key for git": {func(t *testing.T, p *planted) []string {
			t.Helper()
			git := gittest.New(t, gittest.Options{})
			p.secret = strings.Split(git.SSHKey(), "\n")[1]
			git.RefuseSSH("I repeat " + p.secret)
			return []string{
				p.variable(git.SSHKey()), p.provider(fmt.Sprintf("  git = { %q = { ssh_private_key = var.planted, known_hosts = %q } }\n", git.SSHURL("app"), git.KnownHosts()), on),
				fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n}\n", git.SSHURL("app")),
			}
		}, "I repeat"},
		"password for charts": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.serve(t, func(w http.ResponseWriter, request *http.Request) {
				_, password, _ := request.BasicAuth()
				if !strings.HasSuffix(request.URL.Path, "/index.yaml") {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries:\n  web: [{apiVersion: v2, name: web, version: 1.0.0, urls: [%q]}]\n", p.parrot.URL+"/I-repeat-"+url.QueryEscape(password)+".tgz")
			})
			return []string{
				p.variable(p.secret), p.provider(fmt.Sprintf("  registries = { %q = { username = \"me\", password = var.planted, ca_bundle = %q } }\n", p.parrot.URL, p.authority()), on),
				fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  chart = { repo = %q, name = \"web\", version = \"1.0.0\" }\n}\n", p.parrot.URL),
			}
		}, "I-repeat"},
		"token for a registry": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.serve(t, func(w http.ResponseWriter, request *http.Request) {
				_, token, signed := strings.Cut(request.Header.Get("Authorization"), " ")
				if !signed {
					w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", p.parrot.URL))
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				w.Header().Set("Docker-Content-Digest", "I repeat "+token)
			})
			address := strings.Replace(p.parrot.URL, "https://", "oci://", 1)
			return []string{
				p.variable(p.secret), p.provider(fmt.Sprintf("  registries = { %q = { token = var.planted, ca_bundle = %q } }\n", address, p.authority()), on),
				fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  chart = { repo = %q, version = \"1.0.0\" }\n}\n", address+"/web"),
			}
		}, "I repeat"},
		"Secret in a manifest": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.refused(t, "secrets")
			return p.repository(t, map[string]string{"s.yaml": secretManifest("", "data", "BASE64")})
		}, "I do not want"},
		"stringData": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.refused(t, "secrets")
			return p.repository(t, map[string]string{"s.yaml": secretManifest("", "stringData", "SECRET")})
		}, "I do not want"},
		"Secret in a hook": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.refused(t, "secrets")
			return p.repository(t, map[string]string{"s.yaml": secretManifest("helm.sh/hook: pre-install", "stringData", "SECRET")})
		}, "I do not want"},
		"Secret in a diff": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.w.configure(t, p.repository(t, map[string]string{"s.yaml": secretManifest("", "stringData", "before")})...)
			p.w.apply(t)
			configuration := p.repository(t, map[string]string{"s.yaml": secretManifest("", "stringData", "SECRET")})
			configuration[2] = target("diff = \"rendered\"", "fleet_gitrepo.one.bundles")
			return configuration
		}, "(sensitive value)"},
		"valuesFrom": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			p.refused(t, "configmaps")
			return p.repository(t, valuesFrom("data: {key: {{ .Values.word | quote }}}"))
		}, "I do not want"},
		"error of a template": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			return p.repository(t, valuesFrom(`data: {key: {{ fail (printf "I repeat %s" .Values.word) }}}`))
		}, "in fail or required; the text of the error is not shown"},
		"error with a changed value": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			return p.repository(t, valuesFrom(`data: {key: {{ fail (printf "%x %s %s" .Values.word (upper .Values.word) (.Values.word | splitList "" | reverse | join "")) }}}`))
		}, "in fail or required; the text of the error is not shown"},
		"error with a Secret that was looked up": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			files := valuesFrom(`{{ with lookup "v1" "Secret" .Release.Namespace "values" }}{{ fail (printf "%x" (index .data "values.yaml" | b64dec)) }}{{ end }}`)
			files["fleet.yaml"] = "helm: { chart: chart }\n"
			return p.repository(t, files)
		}, "in fail or required; the text of the error is not shown"},
		"name of an object": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			files := valuesFrom("data: {key: x}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: {{ printf \"x%x\" .Values.word }}}\nspec: {containers: [{name: c, image: registry.k8s.io/pause:3.10}]}\n")
			return append(p.repository(t, files)[:2], target("deployment_timeout = \"5s\"", "fleet_gitrepo.one.bundles"))
		}, "(sensitive value)"},
		"name of an object from an encrypted value": {func(t *testing.T, p *planted) []string {
			t.Helper()
			identity, recipient := sopstest.Age(t)
			files := valuesFrom("data: {key: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ printf \"x%x\" .Values.word }}}\n")
			files["fleet.yaml"], files["secret.yaml"] = "helm: { chart: chart, valuesFiles: [secret.yaml] }\n", sopstest.File{Age: []string{recipient}}.Encrypt(t, "word: "+p.secret+"\n")
			configuration := p.repository(t, files)
			configuration[0] = p.provider(fmt.Sprintf("  sops = { age_keys = [%q] }\n", identity), on)
			configuration[2] = target("diff = \"rendered\"", "fleet_gitrepo.one.bundles")
			return configuration
		}, "the names of its objects are not written in its files"},
		"worker that ends": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.namespaced(t, 0)
			p.secretObject(t, "word: "+p.secret)
			files := valuesFrom(`data: {key: {{ include "again" .Values.word }}}`)
			files["chart/templates/_again.tpl"] = `{{ define "again" }}{{ repeat 90000000 . }}{{ include "again" . }}{{ end }}`
			return p.repository(t, files)
		}, "it took more than"},
		"live Secret": {func(t *testing.T, p *planted) []string {
			t.Helper()
			p.w.configure(t, p.repository(t, map[string]string{"s.yaml": secretManifest("", "stringData", "before")})...)
			p.w.apply(t)
			patch := fmt.Sprintf(`{"stringData":{"planted":%q}}`, p.secret)
			if _, err := p.client(t, 0).CoreV1().Secrets(p.namespace).Patch(t.Context(), "s", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			p.refused(t, "secrets")
			return p.repository(t, map[string]string{"s.yaml": secretManifest("", "stringData", "after")})
		}, "I do not want"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlanted(t, env)
			log := filepath.Join(p.w.dir, "trace.log")
			p.w.env = append(p.w.env, "TF_LOG=TRACE", "TF_LOG_PATH="+log)
			p.w.configure(t, test.configure(t, p)...)
			if err := os.RemoveAll(log); err != nil {
				t.Fatal(err)
			}
			said := p.run(t)
			if !strings.Contains(unwrapped(said), test.says) {
				t.Errorf("nobody was asked for the secret:\n%s", said)
			}
			p.expectAbsent(t, "what Terraform prints", said)
			p.expectAbsentInFiles(t)
			p.expectAbsentInRecords(t)
		})
	}
}

// valuesFrom is a chart with values from a Secret.
func valuesFrom(data string) map[string]string {
	return map[string]string{
		"fleet.yaml":             "helm: { chart: chart, valuesFrom: [{ secretKeyRef: { name: values, namespace: NAMESPACE, key: values.yaml } }] }\n",
		"chart/Chart.yaml":       "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"chart/values.yaml":      "word: unset\n",
		"chart/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n" + data + "\n",
	}
}

// run plans, applies and plans again. Any of it may fail. make soak shows plan and state as well: all
// that the CLI can show is in their files, which are searched in any case.
func (p *planted) run(t *testing.T) string {
	t.Helper()
	commands := [][]string{
		{"plan", "-input=false", "-out=tfplan"},
		{"apply", "-input=false", "-auto-approve"},
		{"plan", "-input=false", "-out=tfplan2"},
	}
	if testenv.Soaking() {
		commands = slices.Insert(commands, 1, []string{"show", "tfplan"}, []string{"show", "-json", "tfplan"})
		commands = append(commands, []string{"show", "-json"})
	}
	var said strings.Builder
	for _, args := range commands {
		output, err := p.w.try(t, args...)
		fmt.Fprintf(&said, "%s\n%v\n", output, err)
	}
	return said.String()
}

// forms are the ways in which the secret can be written.
func (p *planted) forms() map[string]string {
	encoded := base64.StdEncoding.EncodeToString([]byte(p.secret))
	quoted := fmt.Sprintf("%q", p.secret)
	reversed := []byte(p.secret)
	slices.Reverse(reversed)
	return map[string]string{
		"hexadecimal": hex.EncodeToString([]byte(p.secret)), "upper case": strings.ToUpper(p.secret), "reverse": string(reversed),
		"plain": p.secret, "base64": strings.TrimRight(encoded, "=")[:len(p.secret)], "URL": url.QueryEscape(p.secret), "JSON": quoted[1 : len(quoted)-1],
		"base64 after me:": base64.StdEncoding.EncodeToString([]byte("me:" + p.secret))[4:20],
	}
}

func (p *planted) expectAbsent(t *testing.T, where, text string) {
	t.Helper()
	unframed := unwrapped(text)
	for form, written := range p.forms() {
		for _, in := range []string{text, unframed} {
			if at := strings.Index(in, written); at >= 0 {
				t.Errorf("%s has the secret in %s: …%s…", where, form, in[max(0, at-300):min(len(in), at+100)])
				break
			}
		}
	}
}

// expectAbsentInFiles reads all files that Terraform and the provider left, and the files of a
// plan.
func (p *planted) expectAbsentInFiles(t *testing.T) {
	t.Helper()
	temporary := ""
	for _, variable := range p.w.env {
		if folder, ok := strings.CutPrefix(variable, "TMPDIR="); ok {
			temporary = folder // The last one is used. An earlier one is for all tests.
		}
	}
	for _, folder := range []string{p.w.dir, temporary} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path) //nolint:gosec // a file of the test
			p.expectAbsent(t, path, string(content))
			if strings.HasPrefix(entry.Name(), "tfplan") {
				p.expectAbsentInArchive(t, path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func (p *planted) expectAbsentInArchive(t *testing.T, path string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, file := range archive.File {
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		p.expectAbsent(t, path+"/"+file.Name, string(content))
	}
}

// expectAbsentInRecords reads the metadata of release records, which all users can read who may
// list metadata.
func (p *planted) expectAbsentInRecords(t *testing.T) {
	t.Helper()
	records, err := p.client(t, 0).CoreV1().Secrets(p.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records.Items {
		p.expectAbsent(t, "the metadata of a record", fmt.Sprint(record.Labels, record.Annotations, record.Name))
	}
}
