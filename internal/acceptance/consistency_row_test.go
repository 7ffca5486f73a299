package acceptance_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// consistencyRow is one chart and its steps. In the corpus it is written in steps.yaml beside the
// chart.
type consistencyRow struct {
	// About describes in one line the purpose of the chart.
	About string            `json:"about"`
	Steps []consistencyStep `json:"steps"`
	// Leaves are objects that stay when the release is removed, by the reason: their policy, their
	// kind, or Helm, which removes no hook without a delete policy.
	Leaves []string `json:"leaves"`
	// Needs is a version of an API group and a kind that not every version of Kubernetes has.
	Needs string `json:"needs"`
	// Altered are the ConfigMaps whose data the cluster itself changes.
	Altered []string `json:"altered"`

	name, dir string
	// foreign charts were not made for this test. It is not written down what a plan can know of
	// them, and not all of their objects get ready here.
	foreign bool
	// dead is true for a row that has ended. refused is the reason why a foreign chart cannot be
	// planned. wrong are the faults that were found.
	dead    bool
	refused string
	wrong   []string
	// seen is what the plans showed of the objects, step by step.
	seen []string
	// altered are the ConfigMaps that were found altered.
	altered map[string]bool
	// planned is what the last plan showed. Values that it did not show are null.
	planned plannedTarget
}

// consistencyStep is a plan, an apply of it, and a plan that has to be empty.
type consistencyStep struct {
	// Chart is the folder of the chart; if it is empty, the folder of the previous step.
	Chart string `json:"chart"`
	// Values are the values of the release, in JSON, so that numbers stay as they are written.
	Values json.RawMessage `json:"values"`
	// Bundle are further attributes of the fleet_bundle. NAMESPACE is a placeholder for the
	// namespace of the test.
	Bundle map[string]any `json:"bundle"`
	// Unknown is the reason that the plan gives for objects that it cannot show. Only rows in
	// irreproducible have one.
	Unknown string `json:"unknown"`
	// Fails is the command in which the step ends.
	Fails *consistencyFailure `json:"fails"`
}

// consistencyFailure is an expected error of a chart.
type consistencyFailure struct {
	At   string `json:"at"` // plan or apply
	Says string `json:"says"`
}

// fails returns where step i of a row has to end, "" if it has to succeed.
func (r *consistencyRow) fails(i int) string {
	if i >= len(r.Steps) || r.Steps[i].Fails == nil {
		return ""
	}
	return r.Steps[i].Fails.At
}

// failure returns the first command and step in which a row has to fail, "" if there is none.
func (r *consistencyRow) failure() string {
	for i := range r.Steps {
		if at := r.fails(i); at != "" {
			return fmt.Sprintf("fails in %s %d", at, i+1)
		}
	}
	return ""
}

// group names the rows that share a workspace. An error of one row must not keep others from being
// judged. A row that cannot be planned stops the plan of all others. A new release that fails is
// removed at once, which is checked while nothing else exists.
func (r *consistencyRow) group() string {
	if r.fails(0) != "" || strings.Contains(r.failure(), "plan") {
		return r.failure()
	}
	return fmt.Sprintf("%d steps", len(r.Steps))
}

func (r *consistencyRow) steps() string {
	return cmp.Or(r.failure(), fmt.Sprintf("%d applies", len(r.Steps)))
}

func (r *consistencyRow) failf(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *consistencyRow) result() string {
	switch {
	case len(r.wrong) > 0:
		return "WRONG"
	case r.refused != "":
		return "refused"
	}
	return "ok"
}

// objects returns what the plans showed of the objects.
func (r *consistencyRow) objects() string {
	return strings.Join(slices.Compact(slices.Clone(r.seen)), ", then ")
}

// namespace returns the namespace of the release. Foreign charts share none, as their objects can
// have the same names.
func (r *consistencyRow) namespace(of string) string {
	if !r.foreign {
		return of
	}
	return strings.Trim((of + "-" + r.name)[:min(63, len(of)+1+len(r.name))], "-")
}

// step returns the configuration in step i; a row with fewer steps stays as it is.
func (r *consistencyRow) step(i int) consistencyStep { return r.Steps[min(i, len(r.Steps)-1)] }

// corpus reads the rows of a folder: subfolders with a steps.yaml, and otherwise charts,
// as folders or packed.
func corpus(t *testing.T, folder string) []*consistencyRow {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var rows []*consistencyRow
	for _, entry := range entries {
		dir := filepath.Join(folder, entry.Name())
		row := &consistencyRow{name: rowName(entry.Name()), dir: dir, altered: map[string]bool{}}
		switch described, err := os.ReadFile(filepath.Join(dir, "steps.yaml")); {
		case err == nil:
			if err := yaml.UnmarshalStrict(described, row); err != nil {
				t.Fatalf("reading %s: %v", filepath.Join(dir, "steps.yaml"), err)
			}
			row.settle(t)
		case strings.HasSuffix(entry.Name(), ".tgz") || hasChart(dir):
			row.foreign = true
			row.Steps = []consistencyStep{{Chart: "."}, {Chart: ".", Values: row.changedValue(t), Bundle: map[string]any{"force_sync_generation": 1}}}
		default:
			continue
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("there is no chart in %s", folder)
	}
	return rows
}

// changedValue returns a value of a foreign chart that differs from its values.yaml. It is nil if
// no value has a known meaning.
func (r *consistencyRow) changedValue(t *testing.T) json.RawMessage {
	t.Helper()
	dir := t.TempDir()
	r.Steps = []consistencyStep{{Chart: "."}}
	if err := r.writeChart(0, dir); err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	var values map[string]any
	content, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &values)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s: reading values.yaml: %v", r.name, err)
	}
	other := otherValue(values)
	if other == nil {
		return nil
	}
	changed, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// otherValue changes what nearly every chart puts into its objects.
func otherValue(values map[string]any) map[string]any {
	for _, key := range []string{"podAnnotations", "commonAnnotations", "commonLabels", "podLabels", "annotations"} {
		if known, isMap := values[key].(map[string]any); isMap || values[key] == nil && hasKey(values, key) {
			changed := maps.Clone(known)
			if changed == nil {
				changed = map[string]any{}
			}
			changed["consistency.example.com/step"] = "two"
			return map[string]any{key: changed}
		}
	}
	if replicas, isNumber := values["replicaCount"].(float64); isNumber {
		return map[string]any{"replicaCount": replicas + 1}
	}
	return nil
}

func hasKey(values map[string]any, key string) bool {
	_, there := values[key]
	return there
}

func hasChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// rowName makes a name that bundles can have.
func rowName(file string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(strings.TrimSuffix(file, ".tgz")), "-")
	return strings.Trim(name, "-")
}

// settle sets explicitly what a description leaves out.
func (r *consistencyRow) settle(t *testing.T) {
	t.Helper()
	if r.About == "" || len(r.Steps) < 2 {
		t.Errorf("%s: a row says what it is about, and has a change", r.name)
	}
	chart := "chart"
	if hasChart(r.dir) {
		chart = "."
	}
	for i := range r.Steps {
		if r.Steps[i].Chart == "" {
			r.Steps[i].Chart = chart
		}
		chart = r.Steps[i].Chart
	}
	if r.fails(len(r.Steps)-1) != "" {
		t.Errorf("%s: the last step mends what failed before", r.name)
	}
	for i := range r.Steps {
		if fails := r.Steps[i].Fails; fails != nil && (fails.Says == "" || fails.At != "plan" && fails.At != "apply") {
			t.Errorf("%s: step %d fails at plan or at apply, and says something", r.name, i+1)
		}
	}
}

// configuration is the row as Terraform's JSON.
func (r *consistencyRow) configuration(i int, namespace string) string {
	step := r.step(i)
	bundle := map[string]any{
		"name": r.name, "default_namespace": r.namespace(namespace), "directory": "./charts/" + r.name,
	}
	if len(step.Values) > 0 {
		bundle["helm"] = map[string]any{"values": string(step.Values)}
	}
	for key, value := range step.Bundle {
		own, isMap := value.(map[string]any)
		if helm, ok := bundle[key].(map[string]any); ok && isMap {
			maps.Copy(helm, own)
			continue
		}
		bundle[key] = value
	}
	target := map[string]any{
		"name": r.name, "targets": []any{map[string]any{"cluster_name": "a"}},
		"deployment_timeout": "60s", "wait": !r.foreign,
	}
	content, err := json.Marshal(map[string]any{"fleet_bundle": map[string]any{r.name: bundle}, "fleet_cluster_target": map[string]any{r.name: target}})
	if err != nil {
		panic(err) // It was read from JSON.
	}
	// Values may contain texts that JSON configurations treat as templates of Terraform.
	text := strings.NewReplacer("${", "$${", "%{", "%%{", "NAMESPACE", namespace).Replace(string(content))
	bundles := fmt.Sprintf(`"bundles":["${fleet_bundle.%s.bundles}"],"deployment_timeout"`, r.name)
	return `{"resource":` + strings.Replace(text, `"deployment_timeout"`, bundles, 1) + "}"
}

// writeChart puts the chart of a step into a folder.
func (r *consistencyRow) writeChart(i int, into string) error {
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	from := filepath.Join(r.dir, r.step(i).Chart)
	packed, err := os.ReadFile(from)
	if err == nil {
		return unpackChart(packed, into)
	}
	return os.CopyFS(into, os.DirFS(from))
}

// definitions returns the names of the definitions in crds/.
func (r *consistencyRow) definitions(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := r.writeChart(0, dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "crds", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq("\n"+string(content), "\n---") {
			var definition metav1.PartialObjectMetadata
			if err := yaml.Unmarshal([]byte(document), &definition); err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			names = append(names, definition.Name)
		}
	}
	return names
}

// unpackChart unpacks the output of helm package.
func unpackChart(packed []byte, into string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, below := strings.Cut(filepath.ToSlash(header.Name), "/")
		if header.Typeflag != tar.TypeReg || !below || !filepath.IsLocal(name) {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		path := filepath.Join(into, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
}
