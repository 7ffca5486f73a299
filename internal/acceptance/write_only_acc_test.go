package acceptance_test

import (
	"archive/zip"
	"cmp"
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

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The secrets differ in plain, in base64 and in a URL.
const (
	firstSecret  = "correct horse&battery/staple"
	secondSecret = "correct mule+zebra?and=nail" //nolint:gosec // G101: it is planted
	thirdSecret  = "seventeen%green elephants"
	// namedSecret can name an object.
	namedSecret = "velvet-octopus-parade"
)

// secretFixture is a configuration with a chart whose objects contain the password, a bundle of
// plain manifests, and a target with write-only input.
type secretFixture struct {
	*workspace
	site *fixture

	labels []string
	word   string
	// provider is the provider block, "" for the block of the site and labels.
	provider string
	// template is added to the template of the chart.
	template string
	// values and files are arguments of the target.
	values, files, extra string
}

const valuesTemplate = "values_wo = { app = { password = var.password } }\n  values_wo_version = { app = %d }"

func newSecretFixture(t *testing.T) *secretFixture {
	t.Helper()
	s := &secretFixture{workspace: newWorkspace(t), site: newFixture(t, testenv.Shared(t)), labels: []string{on}, word: "one"}
	s.env = append(s.env, "TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(s.dir, "trace.log"))
	s.values = fmt.Sprintf(valuesTemplate, 1)
	s.password(firstSecret)
	return s
}

func (s *secretFixture) password(value string) { s.env = append(s.env, "TF_VAR_password="+value) }

func (s *secretFixture) write(t *testing.T) {
	t.Helper()
	s.configure(t, cmp.Or(s.provider, s.site.provider("", s.labels...)), fmt.Sprintf(`
variable "password" {
  type      = string
  ephemeral = true
}
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: {{ .Values.password | quote }}\n  word: {{ .Values.word | quote }}\n%s"
  }
  helm = { values = yamlencode({ password = "unset", word = %q }) }
}
`, s.site.namespace, s.template, s.word), s.site.bundle("other", s.word),
		target(strings.Join([]string{s.values, s.files, s.extra}, "\n  "), "fleet_bundle.app.bundles", "fleet_bundle.other.bundles"))
}

// expectPlan saves a plan with these changes.
func (s *secretFixture) expectPlan(t *testing.T, want ...string) {
	t.Helper()
	s.write(t)
	if diff := gocmp.Diff(want, s.plannedChanges(t)); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	s.expectSecrecy(t, s.run(t, "show", "-json", "tfplan"), s.run(t, "show", "tfplan"))
}

func (s *secretFixture) applyPlan(t *testing.T) {
	t.Helper()
	s.expectSecrecy(t, s.run(t, "apply", "-input=false", "tfplan"))
	s.expectSecrecy(t, s.expectEmptyPlan(t))
}

// expectPassword wants a value in the ConfigMap and in the newest release record of cluster i.
func (s *secretFixture) expectPassword(t *testing.T, i int, want string) {
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
func (s *secretFixture) expectSecrecy(t *testing.T, texts ...string) {
	t.Helper()
	found := map[string]string{}
	for i, text := range texts {
		found[fmt.Sprintf("output %d", i+1)] = text
	}
	files := os.DirFS(s.dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		found[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, saved := found["tfplan"]; saved {
		unzip(t, filepath.Join(s.dir, "tfplan"), found)
	}
	if len(found["trace.log"]) == 0 {
		t.Error("there is no log: this test could not fail")
	}
	for name, text := range found {
		for _, secret := range []string{firstSecret, secondSecret, thirdSecret, namedSecret} {
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
	defer func() {
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	}()
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

// Write-only values are part of every write of their deployments, whatever its reason, and of
// nothing that Terraform stores or prints.
//
//nolint:tparallel // each step continues from the one before
func TestAccWriteOnlyValues(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
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
			change: func(*testing.T) { s.password(secondSecret); s.values = fmt.Sprintf(valuesTemplate, 2) },
			plan:   []string{"~ a/app"}, password: []string{secondSecret},
		},
		{
			name: "a correction of drift keeps the value",
			change: func(t *testing.T) {
				t.Helper()
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
			name: "values as YAML",
			change: func(*testing.T) {
				s.values = strings.Replace(fmt.Sprintf(valuesTemplate, 3), "{ password = var.password }", "yamlencode({ password = var.password })", 1)
			},
			plan: []string{"~ a/app", "~ b/app"}, password: []string{secondSecret, secondSecret},
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

// Errors of templates and API servers do not quote write-only values, and the apply that continues
// a failed one has the value.
func TestAccWriteOnlyErrors(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ template, says string }{
		"a template fails":           {`{{ fail .Values.password }}`, "(sensitive value)"},
		"the API server refuses it":  {`---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: refused\n  labels:\n    key: {{ .Values.password | quote }}\n`, "(sensitive value)"},
		"it is no YAML":              {`{{ .Values.password }}: [\n`, "app"},
		"another part of the record": {`---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.password | quote }}\n`, "(sensitive value)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretFixture(t)
			s.template = row.template
			s.write(t)
			s.expectSecrecy(t, s.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/app", row.says))
			s.template = ""
			s.write(t)
			s.expectSecrecy(t, s.run(t, "apply", "-auto-approve", "-input=false"))
			s.expectPassword(t, 0, firstSecret)
			s.expectSecrecy(t, s.expectEmptyPlan(t))
			s.run(t, "destroy", "-auto-approve")
			s.site.expectNothing(t, 0)
		})
	}
}

const filesTemplate = `files_wo = { other = { "secrets/db.yaml" = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  key: ${jsonencode(var.password)}\n" } }
  files_wo_version = { other = %d }`

// expectFile wants a value in the Secret of the write-only file.
func (s *secretFixture) expectFile(t *testing.T, want string) {
	t.Helper()
	secret, err := s.site.client(t, 0).CoreV1().Secrets(s.site.namespace).Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(secret.Data["key"]); got != want {
		t.Errorf("the Secret has %q, want %q", got, want)
	}
}

// A write-only manifest is deployed beside the manifests of its bundle, and is removed with its
// entry.
func TestAccWriteOnlyFiles(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
	s.values, s.files, s.extra = "", fmt.Sprintf(filesTemplate, 1), "diff = \"rendered\""
	s.expectPlan(t, "+ a/app", "+ a/other")
	s.applyPlan(t)
	s.expectFile(t, firstSecret)
	objects := s.objects(t)
	hashes := map[string]bool{}
	for _, hash := range objects["a/other"] {
		hashes[hash] = true
	}
	if len(objects["a/other"]) != 2 || len(hashes) != 1 {
		t.Errorf("objects show hashes of their content: %v", objects["a/other"])
	}

	s.word = "two"
	s.expectPlan(t, "~ a/app", "~ a/other")
	s.applyPlan(t)
	s.expectFile(t, firstSecret)

	s.password(secondSecret)
	s.files = fmt.Sprintf(filesTemplate, 2)
	s.expectPlan(t, "~ a/other")
	s.applyPlan(t)
	s.expectFile(t, secondSecret)

	s.files = ""
	s.expectPlan(t, "~ a/other")
	s.applyPlan(t)
	if _, err := s.site.client(t, 0).CoreV1().Secrets(s.site.namespace).Get(t.Context(), "db", metav1.GetOptions{}); err == nil {
		t.Error("the Secret is still there")
	}
	s.run(t, "destroy", "-auto-approve")
	s.expectSecrecy(t)
	s.site.expectNothing(t, 0)
}

// An error in write-only input is an error of the plan, or of the apply before it begins. The error
// does not quote the input.
func TestAccWriteOnlyInputIsChecked(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
	for _, row := range []struct{ name, values, says string }{
		{"a bundle that the target lacks", `values_wo = { ap = { a = var.password } }`, `Bundle ap: values_wo: the target has no such bundle; the bundles are app, other`},
		{"no version", `values_wo = { app = { a = var.password } }`, "values_wo_version has no entry for the bundle"},
		{"no values", `values_wo_version = { app = 1 }`, "values_wo has no entry for the bundle"},
		{"values that are no map", "values_wo = { app = [var.password] }\n  values_wo_version = { app = 1 }", "neither an object nor a map"},
		{"text that is no map", "values_wo = { app = \"- ${var.password}\" }\n  values_wo_version = { app = 1 }", "not a map written as YAML or JSON"},
		{"no object", "values_wo = var.password\n  values_wo_version = { app = 1 }", "It must be an object"},
		{"null", "values_wo = { app = null }\n  values_wo_version = { app = 1 }", "neither an object nor a map"},
		{"a path that leads out", "files_wo = { other = { \"../x.yaml\" = var.password } }\n  files_wo_version = { other = 1 }", "is not a path within the bundle"},
		{"a path of the bundle", "files_wo = { other = { \"m.yaml\" = var.password } }\n  files_wo_version = { other = 1 }", `the bundle already contains the file "m.yaml"`},
		{"a file that is no manifest", "files_wo = { other = { \"x.txt\" = var.password } }\n  files_wo_version = { other = 1 }", `"x.txt" is not deployed`},
		{"a template", "files_wo = { other = { \"templates/x.yaml\" = var.password } }\n  files_wo_version = { other = 1 }", `"templates/x.yaml" is not deployed`},
		{"a file of a chart", "files_wo = { app = { \"x.yaml\" = var.password } }\n  files_wo_version = { app = 1 }", "the bundle is a Helm chart"},
		{"content that is no text", "files_wo = { other = { \"x.yaml\" = { a = var.password } } }\n  files_wo_version = { other = 1 }", "does not have text as its content"},
	} {
		s.values = row.values
		s.write(t)
		output := s.fail(t, []string{"plan", "-input=false"}, row.says)
		s.expectSecrecy(t, output)
	}
	s.values = "files_wo = { other = { \"x.yaml\" = var.password } }\n  files_wo_version = { other = 1 }"
	s.write(t)
	s.expectSecrecy(t, s.fail(t, []string{"apply", "-auto-approve", "-input=false"}, `"x.yaml" is not a manifest of Kubernetes objects`))
}

// A user who takes a release over, imports it or continues on another machine deploys the value or
// leaves it.
func TestAccWriteOnlyValuesElsewhere(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
	s.values = ""
	s.write(t)
	s.apply(t)
	s.expectPassword(t, 0, "unset")

	taker := newSecretFixture(t)
	taker.site, taker.extra = s.site, "take_ownership = true"
	taker.provider = strings.Replace(s.site.provider("", on), fmt.Sprintf("owner = %q", s.site.namespace), `owner = "taker"`, 1)
	taker.expectPlan(t, "+ a/app", "+ a/other")
	taker.applyPlan(t)
	taker.expectPassword(t, 0, firstSecret)
	before := s.site.releases(t, 0)

	taker.run(t, "state", "rm", "fleet_cluster_target.all")
	taker.run(t, "import", "fleet_cluster_target.all", "all")
	taker.expectPlan(t)
	taker.applyPlan(t)
	if diff := gocmp.Diff(before, s.site.releases(t, 0), gocmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("the import touched the releases (-before +after):\n%s", diff)
	}

	state, err := os.ReadFile(filepath.Join(taker.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	other := newSecretFixture(t)
	other.site, other.extra, other.provider = s.site, taker.extra, taker.provider
	other.workspace.write(t, "terraform.tfstate", string(state))
	other.write(t)
	other.expectEmptyPlan(t)
	other.word = "two"
	other.expectPlan(t, "~ a/app", "~ a/other")
	other.applyPlan(t)
	other.expectPassword(t, 0, firstSecret)
	other.run(t, "destroy", "-auto-approve")
	other.expectSecrecy(t)
	s.site.expectNothing(t, 0)
}

// An identity without the right to write plans, and another one applies its plan.
func TestAccWriteOnlyValuesPlannedByAReader(t *testing.T) {
	t.Parallel()
	g, s := newGate(t, 1), newSecretFixture(t)
	s.site, s.provider = g.fixture, g.provider("", on)
	for i, step := range []struct {
		password string
		want     []string
	}{
		{firstSecret, []string{"+ a/app", "+ a/other"}},
		{secondSecret, []string{"~ a/app"}},
	} {
		s.values = fmt.Sprintf(valuesTemplate, i)
		s.password(step.password)
		g.become(t, "plan", role(t, "plan"))
		g.record()
		s.expectPlan(t, step.want...)
		expectReads(t, 0, g.recorded())
		// An ephemeral value can change before the apply.
		s.password(thirdSecret)
		g.become(t, "apply", role(t, "apply"))
		s.applyPlan(t)
		s.expectPassword(t, 0, thirdSecret)
	}
	s.run(t, "destroy", "-auto-approve")
	s.expectSecrecy(t)
	g.expectNothing(t, 0)
}

// An error of a server that quotes a write-only value is masked too, and the next apply continues.
func TestAccWriteOnlyValuesOfARefusedObject(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
	s.site.forbidPods(t, 0)
	s.password(namedSecret)
	s.template = `---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.password }}\nspec:\n  containers: [{name: c, image: registry.k8s.io/pause:3.10}]\n`
	s.extra = "plan_objects = false"
	s.write(t)
	s.expectSecrecy(t, s.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/app", "exceeded quota"))
	s.template = ""
	s.write(t)
	s.expectSecrecy(t, s.run(t, "apply", "-auto-approve", "-input=false"))
	s.expectPassword(t, 0, namedSecret)
	s.expectSecrecy(t, s.expectEmptyPlan(t))
	s.run(t, "destroy", "-auto-approve")
	s.site.expectNothing(t, 0)
}

// A value that is unknown while planning is deployed with its value at apply.
func TestAccUnknownWriteOnlyValues(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ input, values string }{
		"a value":    {`"known later"`, `{ app = { password = terraform_data.secret.output } }`},
		"a bundle":   {`{ password = "known later" }`, `{ app = terraform_data.secret.output }`},
		"everything": {`{ app = { password = "known later" } }`, `terraform_data.secret.output`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretFixture(t)
			s.values = "values_wo = " + row.values + "\n  values_wo_version = { app = 1 }"
			s.provider = s.site.provider("", on) + "resource \"terraform_data\" \"secret\" {\n  input = " + row.input + "\n}\n"
			s.expectPlan(t, "+ a/app", "+ a/other")
			s.applyPlan(t)
			s.expectPassword(t, 0, "known later")
			s.run(t, "destroy", "-auto-approve")
			s.site.expectNothing(t, 0)
		})
	}
}

// Write-only values take precedence over those of the cluster, and a change of either is detected.
func TestAccWriteOnlyValuesOverValuesFrom(t *testing.T) {
	t.Parallel()
	s := newSecretFixture(t)
	s.site.setSecret(t, 0, "from the cluster")
	write := func(values string) {
		s.configure(t, s.site.provider("", on), fmt.Sprintf(`
variable "password" {
  type      = string
  ephemeral = true
}
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: {{ .Values.word | quote }}\n"
  }
  helm = { values_from = [{ secret_key_ref = { name = "words", key = "app" } }] }
}
`, s.site.namespace), target(values, "fleet_bundle.app.bundles"))
	}
	for _, step := range []struct{ cluster, values, want string }{
		{"from the cluster", "values_wo = { app = { word = var.password } }\n  values_wo_version = { app = 1 }", firstSecret},
		{"changed there", "values_wo = { app = { word = var.password } }\n  values_wo_version = { app = 1 }", firstSecret},
		{"changed there", "", "changed there"},
	} {
		s.site.setSecret(t, 0, step.cluster)
		write(step.values)
		s.run(t, "plan", "-out=tfplan", "-input=false")
		s.applyPlan(t)
		if got := s.site.value(t, 0, "app"); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
	s.run(t, "destroy", "-auto-approve")
	s.expectSecrecy(t)
	s.site.expectNothing(t, 0)
}
