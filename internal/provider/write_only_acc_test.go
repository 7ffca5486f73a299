package provider_test

import (
	"archive/zip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The secrets differ in plain, in base64 and in a URL.
const (
	firstSecret  = "correct horse&battery/staple"
	secondSecret = "tr0ub4dor+and=three?more"
	thirdSecret  = "seventeen%green elephants"
)

// secretive is a configuration with a chart whose objects contain the password, a bundle of
// plain manifests, and a target with write-only input.
type secretive struct {
	*workspace
	site *site

	labels []string
	word   string
	// values and files are arguments of the target.
	values, files, extra string
}

const passwordVersion = "values_wo = { app = { password = var.password } }\n  values_wo_version = { app = %d }"

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	s := &secretive{workspace: newWorkspace(t), site: newSite(t, testenv.Shared(t)), labels: []string{on}, word: "one"}
	s.env = append(s.env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(s.dir, "trace.log"))
	s.values = fmt.Sprintf(passwordVersion, 1)
	s.password(firstSecret)
	return s
}

func (s *secretive) password(value string) { s.env = append(s.env, "TF_VAR_password="+value) }

func (s *secretive) write(t *testing.T) {
	t.Helper()
	s.configure(t, s.site.provider("", s.labels...), fmt.Sprintf(`
variable "password" {
  type      = string
  ephemeral = true
}
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: {{ .Values.password | quote }}\n  word: {{ .Values.word | quote }}\n"
  }
  helm = { values = yamlencode({ password = "unset", word = %q }) }
}
`, s.site.namespace, s.word), s.site.bundle("other", s.word),
		target(strings.Join([]string{s.values, s.files, s.extra}, "\n  "), "fleet_bundle.app.bundles", "fleet_bundle.other.bundles"))
}

// expectPlan saves a plan with these changes.
func (s *secretive) expectPlan(t *testing.T, want ...string) {
	t.Helper()
	s.write(t)
	if diff := cmp.Diff(want, s.plannedChanges(t)); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	s.expectSecrecy(t, s.run(t, "show", "-json", "tfplan"), s.run(t, "show", "tfplan"))
}

func (s *secretive) applyPlan(t *testing.T) {
	t.Helper()
	s.expectSecrecy(t, s.run(t, "apply", "-input=false", "tfplan"))
	s.expectSecrecy(t, s.expectEmptyPlan(t))
}

// expectPassword wants a value in the ConfigMap and in the newest release record of cluster i.
func (s *secretive) expectPassword(t *testing.T, i int, want string) {
	t.Helper()
	if got := s.site.value(t, i, "app"); got != want {
		t.Errorf("cluster %d has another password: %q, want %q", i, got, want)
	}
	var record struct {
		Config map[string]any `json:"config"`
	}
	newest := s.site.releases(t, i)["app"]
	revision, err := strconv.Atoi(newest.revision)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := s.site.client(t, i).CoreV1().Secrets(s.site.namespace).Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.app.v%d", revision), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(recorded(t, secret.Data["release"]), &record); err != nil {
		t.Fatal(err)
	}
	if record.Config["password"] != want {
		t.Errorf("the record on cluster %d has another password than %q", i, want)
	}
}

// expectSecrecy wants no secret in the texts, nor in any file of the workspace: state, plan
// and log.
func (s *secretive) expectSecrecy(t *testing.T, texts ...string) {
	t.Helper()
	found := map[string]string{}
	for i, text := range texts {
		found[fmt.Sprintf("output %d", i+1)] = text
	}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, saved := found[filepath.Join(s.dir, "tfplan")]; saved {
		unzip(t, filepath.Join(s.dir, "tfplan"), found)
	}
	if len(found[filepath.Join(s.dir, "trace.log")]) == 0 {
		t.Error("there is no log: this test could not fail")
	}
	for name, text := range found {
		for _, secret := range []string{firstSecret, secondSecret, thirdSecret} {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret), url.PathEscape(secret)} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s contains a secret: %.200s", name, text[max(0, at-100):])
				}
			}
		}
	}
}

func unzip(t *testing.T, path string, into map[string]string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, file := range archive.File {
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		into[path+"/"+file.Name] = string(content)
	}
}

// Write-only values reach every write of their deployments, whatever its reason, and nothing
// that Terraform stores or prints.
func TestAccWriteOnlyValues(t *testing.T) {
	t.Parallel()
	s := newSecretive(t)
	for _, step := range []struct {
		name     string
		change   func(t *testing.T)
		plan     []string // nil: the plan is empty.
		password []string // of each cluster
	}{
		{name: "install", plan: []string{"+ a/app", "+ a/other"}, password: []string{firstSecret}},
		{
			name:     "another value under the same version changes nothing",
			change:   func(*testing.T) { s.password(secondSecret) },
			password: []string{firstSecret},
		},
		{
			name:   "an unrelated upgrade keeps the value",
			change: func(*testing.T) { s.password(firstSecret); s.word = "two" },
			plan:   []string{"~ a/app", "~ a/other"}, password: []string{firstSecret},
		},
		{
			name:   "another version deploys its bundle alone",
			change: func(*testing.T) { s.password(secondSecret); s.values = fmt.Sprintf(passwordVersion, 2) },
			plan:   []string{"~ a/app"}, password: []string{secondSecret},
		},
		{
			name: "a correction of drift keeps the value",
			change: func(t *testing.T) {
				s.site.edit(t, 0, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "app", `{"data":{"key":"changed by hand"}}`)
			},
			plan: []string{"~ a/app"}, password: []string{secondSecret},
		},
		{
			name:   "a cluster that joins later has the value",
			change: func(*testing.T) { s.labels = []string{on, on} },
			plan:   []string{"+ b/app", "+ b/other"}, password: []string{secondSecret, secondSecret},
		},
		{
			name:   "values as YAML",
			change: func(*testing.T) { s.values = strings.Replace(fmt.Sprintf(passwordVersion, 3), "{ password = var.password }", "yamlencode({ password = var.password })", 1) },
			plan:   []string{"~ a/app", "~ b/app"}, password: []string{secondSecret, secondSecret},
		},
		{
			name:   "removal deploys without the value",
			change: func(*testing.T) { s.values = "" },
			plan:   []string{"~ a/app", "~ b/app"}, password: []string{"unset", "unset"},
		},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			if step.change != nil {
				step.change(t)
			}
			if step.plan == nil {
				s.write(t)
				s.expectSecrecy(t, s.expectEmptyPlan(t))
			} else {
				s.expectPlan(t, step.plan...)
				s.applyPlan(t)
			}
			for i, password := range step.password {
				s.expectPassword(t, i, password)
			}
		})
		if !ok {
			t.FailNow() // What follows builds on it.
		}
	}
	s.run(t, "destroy", "-auto-approve")
	s.expectSecrecy(t)
	for i := range 2 {
		s.site.expectNothing(t, i)
	}
}
