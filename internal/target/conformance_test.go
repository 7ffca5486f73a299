package target_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// corpusVariable names a folder with recordings of what the real Fleet makes of
// many inputs: inputs/, inventory.yaml and expected/INDEX.yaml.
const corpusVariable = "FLEET_CONFORMANCE"

// verdict is what came out of comparing one thing with its recording.
type verdict string

const (
	equal    verdict = "equal"
	deviates verdict = "deviates as documented"
	notYet   verdict = "not yet"
	wrong    verdict = "wrong"
)

// recording is one input and what Fleet made of it.
type recording struct {
	ID        string   `json:"id"`
	Input     string   `json:"input"`
	Root      string   `json:"root"`
	RepoName  string   `json:"repoName"`
	Paths     []string `json:"paths"`
	Driven    []any    `json:"driven"`
	GitRepo   gitRepo  `json:"gitrepo"`
	Outcome   string   `json:"outcome"`
	Class     string   `json:"class"`
	Deviation bool     `json:"deviation"`
	Open      bool     `json:"open"`
	// Symlinks are links below the input and where they lead, for checkouts that
	// cannot hold them.
	Symlinks map[string]string `json:"symlinks"`
	Bundles  []recordedBundle  `json:"bundles"`
	Ours     struct {
		Outcome        string                                `json:"outcome"`
		Error          string                                `json:"error"`
		Bundles        []string                              `json:"bundles"`
		Patch          map[string]map[string]json.RawMessage `json:"patch"`
		NotTargeted    map[string][]string                   `json:"notTargeted"`
		ResourcesAdded map[string][]string                   `json:"resourcesAdded"`
		// Unspecified are paths such as "options.ignore" that are not compared.
		Unspecified []string `json:"unspecified"`
	} `json:"ours"`
}

// gitRepo are the settings of the GitRepo of a recording.
type gitRepo struct {
	bundle.Overlay

	Targets []fleetyaml.Criteria `json:"targets"`
}

type recordedBundle struct {
	Name     string            `json:"name"`
	Folder   string            `json:"folder"`
	Dir      string            `json:"dir"`
	Options  string            `json:"options"`
	Outcome  string            `json:"outcome"`
	Clusters map[string]string `json:"clusters"`
}

// recordedDeployments is layer C of one bundle.
type recordedDeployments struct {
	Deployments map[string]struct {
		Options map[string]any `json:"options"`
	} `json:"deployments"`
	Errors map[string]string `json:"errors"`
	// Unstaged clusters match but are in no partition of the rollout.
	Unstaged []string `json:"unstaged"`
}

// corpus is a folder of recordings.
type corpus struct {
	dir        string
	recordings []recording
	clusters   []target.Cluster
	groups     []target.Group
}

func TestConformance(t *testing.T) {
	t.Parallel()

	dir := os.Getenv(corpusVariable)
	if dir == "" {
		t.Skipf("%s is not set; it names a folder of recordings of the real Fleet", corpusVariable)
	}
	c := readCorpus(t, dir)
	if len(c.recordings) == 0 {
		t.Fatalf("%s holds no recordings", dir)
	}
	table := make(map[string]map[verdict][]string)
	for _, r := range c.recordings {
		for _, f := range c.compare(t, r) {
			if table[f.layer] == nil {
				table[f.layer] = make(map[verdict][]string)
			}
			table[f.layer][f.verdict] = append(table[f.layer][f.verdict], f.what)
			if f.verdict == wrong {
				t.Errorf("%s %s: %s", f.layer, f.what, f.detail)
			}
		}
	}
	t.Log("\n" + summary(table))
}

func summary(table map[string]map[verdict][]string) string {
	var text strings.Builder
	verdicts := []verdict{equal, deviates, notYet, wrong}
	fmt.Fprintf(&text, "%-14s", "layer")
	for _, v := range verdicts {
		fmt.Fprintf(&text, "%24s", v)
	}
	for _, layer := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&text, "\n%-14s", layer)
		for _, v := range verdicts {
			fmt.Fprintf(&text, "%24d", len(table[layer][v]))
		}
	}
	for _, layer := range slices.Sorted(maps.Keys(table)) {
		if later := table[layer][notYet]; len(later) > 0 {
			fmt.Fprintf(&text, "\n\n%s, not yet:\n  %s", layer, strings.Join(later, "\n  "))
		}
	}
	return text.String()
}

// finding is the verdict on one thing in one layer.
type finding struct {
	layer, what string
	verdict     verdict
	detail      string
}

const (
	layerNames   = "A names"
	layerFiles   = "B files"
	layerOptions = "C options"
)

// compare runs one input and compares all layers.
func (c *corpus) compare(t *testing.T, r recording) []finding {
	t.Helper()

	names := func(v verdict, detail string) finding { return finding{layerNames, r.ID, v, detail} }
	if len(r.Driven) > 0 {
		return []finding{names(notYet, "")}
	}
	result, err := bundle.Read(os.DirFS(c.inputs(t, r)), r.options(r.Paths))
	if isNotYet(err) {
		if r.Outcome != "ok" {
			return []finding{names(equal, "")} // Fails, as with Fleet.
		}
		return append([]finding{names(notYet, "")}, c.compareApart(t, r)...)
	}
	got := make([]string, len(result.Bundles))
	for i, b := range result.Bundles {
		got[i] = b.Name
	}
	slices.Sort(got)

	findings := []finding{names(r.judgeNames(got, err))}
	if err != nil {
		return findings
	}
	for _, b := range result.Bundles {
		i := slices.IndexFunc(r.Bundles, func(want recordedBundle) bool { return want.Name == b.Name })
		if i >= 0 {
			findings = append(findings, c.compareBundle(t, r, r.Bundles[i], b)...)
		}
	}
	return findings
}

// compareApart looks at each bundle of an input that as a whole cannot be read yet.
func (c *corpus) compareApart(t *testing.T, r recording) []finding {
	t.Helper()

	var findings []finding
	inputs := c.inputs(t, r)
	for _, want := range r.Bundles {
		result, err := bundle.Read(os.DirFS(inputs), r.options([]string{want.Dir}))
		i := slices.IndexFunc(result.Bundles, func(b bundle.Bundle) bool { return b.Path == want.Dir })
		what := r.ID + " " + want.Name
		switch {
		case isNotYet(err):
			v, detail := c.judgeAhead(t, r, want, inputs)
			findings = append(findings, finding{layerOptions, what, v, detail})
		case err != nil || i < 0:
			findings = append(findings, finding{layerOptions, what, wrong, fmt.Sprintf("no bundle: %v", err)})
		default:
			findings = append(findings, c.compareBundle(t, r, want, result.Bundles[i])...)
		}
	}
	return findings
}

// judgeAhead compares options that are merged already, although nothing acts upon
// them yet.
func (c *corpus) judgeAhead(t *testing.T, r recording, want recordedBundle, inputs string) (verdict, string) {
	t.Helper()

	file := filepath.Join(inputs, want.Dir, "fleet.yaml")
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return notYet, ""
	}
	if err != nil {
		return wrong, err.Error()
	}
	def, _, err := fleetyaml.Parse(file, data, true)
	if invalid, ok := errors.AsType[*fleetyaml.Error](err); ok && !invalid.Only(fleetyaml.NotYet) {
		return wrong, err.Error()
	}
	def.ForceSyncGeneration = r.GitRepo.ForceSyncGeneration
	if !cmp.Equal(r.GitRepo, gitRepo{}) {
		return notYet, "" // What the GitRepo adds is laid on by bundle.Read.
	}
	v, detail := c.judgeOptions(t, r, want, bundle.Bundle{Name: want.Name, Path: want.Dir, Definition: def})
	if v == wrong {
		return wrong, detail
	}
	return notYet, ""
}

func (r recording) options(paths []string) bundle.ReadOptions {
	o := bundle.ReadOptions{RepoName: r.RepoName, Paths: paths, Strict: true, Overlay: r.GitRepo.Overlay}
	if o.RepoName == "" {
		o.RepoName = "test"
	}
	return o
}

// isNotYet says whether reading has failed for want of a feature.
func isNotYet(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), isNotYet)
	}
	invalid, ok := errors.AsType[*fleetyaml.Error](err)
	return ok && slices.ContainsFunc(invalid.Problems, func(p fleetyaml.Problem) bool { return p.Kind == fleetyaml.NotYet })
}

// judgeNames compares layer A.
func (r recording) judgeNames(names []string, err error) (verdict, string) {
	var want []string
	for _, b := range r.Bundles {
		want = append(want, b.Name)
	}
	slices.Sort(want)
	switch {
	// These two are ours by decision, and marked as open in the corpus.
	case r.ID == "cases__loose-keys":
		if err == nil {
			return wrong, "read, although keys are loose"
		}
		return deviates, ""
	case r.ID == "cases__apply-errors__symlink-directory":
		if err != nil || len(names) != 1 {
			return wrong, fmt.Sprintf("a link to a folder of the bundle is not followed: %v", err)
		}
		return deviates, ""
	// A selector that nothing can match is found when it is read.
	case len(r.Bundles) > 0 && r.allFail("selector-error"):
		if err == nil {
			return wrong, "a broken selector was read"
		}
		return equal, ""
	case r.Ours.Outcome == "error" && r.Ours.Error != "non-hermetic-error":
		if class := classOf(err); class != r.Ours.Error {
			return wrong, fmt.Sprintf("want %s, got %s: %v", r.Ours.Error, class, err)
		}
		return deviates, ""
	case len(r.Ours.Bundles) > 0:
		want = r.Ours.Bundles
		if err == nil && slices.Equal(names, want) {
			return deviates, ""
		}
	case r.Outcome != "ok":
		if err == nil {
			return wrong, fmt.Sprintf("want %s, got bundles %v", r.Class, names)
		}
		return equal, ""
	}
	if err != nil {
		return wrong, err.Error()
	}
	if diff := cmp.Diff(want, names); diff != "" {
		return wrong, "names (-Fleet +ours):\n" + diff
	}
	return equal, ""
}

func (r recording) allFail(class string) bool {
	return !slices.ContainsFunc(r.Bundles, func(b recordedBundle) bool {
		return len(b.Clusters) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(b.Clusters)), func(c string) bool { return c != class })
	})
}

// classOf gives errors of our own the names that the corpus has for them.
func classOf(err error) string {
	if _, ok := errors.AsType[*bundle.DuplicateNameError](err); ok {
		return "duplicate-name-error"
	}
	if chart, ok := errors.AsType[*bundle.ChartError](err); ok && chart.Outside {
		return "chart-outside-error"
	}
	if invalid, ok := errors.AsType[*fleetyaml.Error](err); ok && invalid.Only(fleetyaml.UnknownKey) {
		return "unknown-key-error"
	}
	return "another error"
}

// compareBundle compares layers B and C of one bundle.
func (c *corpus) compareBundle(t *testing.T, r recording, want recordedBundle, b bundle.Bundle) []finding {
	t.Helper()

	what := r.ID + " " + b.Name
	files := finding{layer: layerFiles, what: what}
	files.verdict, files.detail = c.judgeFiles(t, r, want, b)
	options := finding{layer: layerOptions, what: what}
	options.verdict, options.detail = c.judgeOptions(t, r, want, b)
	return []finding{files, options}
}

func (c *corpus) judgeFiles(t *testing.T, r recording, want recordedBundle, b bundle.Bundle) (verdict, string) {
	t.Helper()

	var recorded struct {
		Resources map[string]string `json:"resources"`
	}
	c.readExpected(t, r, want, "bundle.yaml", &recorded)
	got := make(map[string]string, len(b.Files))
	for _, file := range b.Files {
		sum := sha256.Sum256(file.Content)
		got[file.Name] = hex.EncodeToString(sum[:])
	}
	added := r.Ours.ResourcesAdded[b.Name]
	for _, name := range added {
		if _, ok := got[name]; !ok {
			return wrong, "lacks " + name
		}
		delete(got, name)
	}
	if diff := cmp.Diff(recorded.Resources, got); diff != "" {
		return wrong, "files (-Fleet +ours):\n" + diff
	}
	if len(added) > 0 {
		return deviates, ""
	}
	return equal, ""
}

// judgeOptions compares which clusters get the bundle, and with which options.
func (c *corpus) judgeOptions(t *testing.T, r recording, want recordedBundle, b bundle.Bundle) (verdict, string) {
	t.Helper()

	result, err := target.Deployments(target.Input{
		Bundles: []*bundle.Bundle{&b}, Rules: r.rules(), Clusters: c.clusters, Groups: c.groups,
	})
	if err != nil {
		return wrong, err.Error()
	}
	got := make(map[string]any)
	for _, d := range result.Deployments {
		got[d.Cluster] = normalOptions(asJSON(t, d.Options))
	}
	failed := make(map[string]bool)
	for _, f := range result.Failures {
		failed[f.Cluster] = true
	}
	if r.Ours.Error == "non-hermetic-error" {
		return judgeNonHermetic(result)
	}
	if r.Outcome != "ok" { // Read although Fleet does not; nothing is recorded.
		return deviates, ""
	}

	var recorded recordedDeployments
	c.readExpected(t, r, want, "deployments.yaml", &recorded)
	for _, cluster := range recorded.Unstaged {
		delete(got, cluster)
	}
	wantOptions, wantFailed := make(map[string]any), make(map[string]bool)
	for cluster := range recorded.Errors {
		wantFailed[cluster] = true
	}
	for cluster, d := range recorded.Deployments {
		switch {
		case slices.Contains(r.Ours.NotTargeted[b.Name], cluster):
		case want.Clusters[cluster] == "release-name-error":
			wantFailed[cluster] = true
		default:
			wantOptions[cluster] = normalOptions(patched(t, d.Options, r.Ours.Patch[b.Name][cluster]))
		}
	}
	if diff := cmp.Diff(wantFailed, failed); diff != "" {
		return wrong, fmt.Sprintf("failures (-Fleet +ours):\n%s\n%v", diff, result.Failures)
	}
	for _, path := range r.Ours.Unspecified {
		for _, options := range []map[string]any{wantOptions, got} {
			for _, of := range options {
				drop(of, strings.Split(path, ".")[1:])
			}
		}
	}
	if diff := cmp.Diff(wantOptions, got); diff != "" {
		return wrong, "options (-Fleet +ours):\n" + diff
	}
	if r.Deviation && (r.Ours.Patch[b.Name] != nil || r.Ours.NotTargeted[b.Name] != nil || want.Outcome != "ok") {
		return deviates, ""
	}
	return equal, ""
}

func judgeNonHermetic(result target.Result) (verdict, string) {
	for _, f := range result.Failures {
		if _, ok := errors.AsType[*target.NonHermeticError](f.Err); !ok {
			return wrong, f.Err.Error()
		}
	}
	if len(result.Failures) == 0 {
		return wrong, "a template that changes with each run was accepted"
	}
	return deviates, ""
}

func (r recording) rules() []target.Rule {
	if r.GitRepo.Targets == nil {
		return []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}}
	}
	rules := make([]target.Rule, len(r.GitRepo.Targets))
	for i, criteria := range r.GitRepo.Targets {
		rules[i] = target.Rule(criteria)
	}
	return rules
}

func patched(t *testing.T, options map[string]any, patch json.RawMessage) map[string]any {
	t.Helper()

	if patch == nil {
		return options
	}
	document, err := json.Marshal(map[string]any{"options": options})
	if err != nil {
		t.Fatal(err)
	}
	document, err = jsonpatch.MergePatch(document, patch)
	if err != nil {
		t.Fatal(err)
	}
	var after struct {
		Options map[string]any `json:"options"`
	}
	if err := json.Unmarshal(document, &after); err != nil {
		t.Fatal(err)
	}
	return after.Options
}

func asJSON(t *testing.T, options fleetyaml.Options) map[string]any {
	t.Helper()

	data, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// normalOptions drops what is the same as nothing. Values are exact, except that
// none are the same as an empty map.
func normalOptions(options map[string]any) map[string]any {
	normal, _ := dropEmpty(options, "").(map[string]any)
	if normal == nil {
		return map[string]any{}
	}
	return normal
}

// drop takes away what stands at path, as far as there is something.
func drop(value any, path []string) {
	below, ok := value.(map[string]any)
	if !ok || len(path) == 0 {
		return
	}
	if len(path) == 1 {
		delete(below, path[0])
		return
	}
	drop(below[path[0]], path[1:])
}

func dropEmpty(value any, path string) any {
	switch value := value.(type) {
	case map[string]any:
		if path == ".helm.values" && len(value) > 0 {
			return value
		}
		kept := make(map[string]any)
		for key, item := range value {
			if left := dropEmpty(item, path+"."+key); left != nil {
				kept[key] = left
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		if len(value) == 0 {
			return nil
		}
	case string:
		if value == "" {
			return nil
		}
	case bool:
		if !value && path != ".createNamespace" {
			return nil
		}
	case float64:
		if value == 0 {
			return nil
		}
	}
	return value
}

func readCorpus(t *testing.T, dir string) *corpus {
	t.Helper()

	c := &corpus{dir: dir}
	var index struct {
		Entries []recording `json:"entries"`
	}
	readYAML(t, filepath.Join(dir, "expected", "INDEX.yaml"), &index)
	c.recordings = index.Entries

	type metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	var inventory struct {
		Clusters []struct {
			Metadata metadata `json:"metadata"`
			Spec     struct {
				TemplateValues map[string]any `json:"templateValues"`
			} `json:"spec"`
		} `json:"clusters"`
		ClusterGroups []struct {
			Metadata metadata `json:"metadata"`
			Spec     struct {
				Selector *fleetyaml.Selector `json:"selector"`
			} `json:"spec"`
		} `json:"clustergroups"`
	}
	readYAML(t, filepath.Join(dir, "inventory.yaml"), &inventory)
	for _, cluster := range inventory.Clusters {
		c.clusters = append(c.clusters, target.Cluster{
			Name: cluster.Metadata.Name, Namespace: cluster.Metadata.Namespace,
			Labels: cluster.Metadata.Labels, Annotations: cluster.Metadata.Annotations,
			TemplateValues: cluster.Spec.TemplateValues,
		})
	}
	for _, group := range inventory.ClusterGroups {
		if group.Spec.Selector == nil { // A group without a selector has no clusters.
			continue
		}
		c.groups = append(c.groups, target.Group{
			Name: group.Metadata.Name, Labels: group.Metadata.Labels, Selector: *group.Spec.Selector,
		})
	}
	return c
}

// inputs is the folder that the paths of a recording are relative to. Links that
// the checkout may have lost are made in a copy.
func (c *corpus) inputs(t *testing.T, r recording) string {
	t.Helper()

	dir := filepath.Join(c.dir, "inputs", r.Root)
	if len(r.Symlinks) == 0 {
		return dir
	}
	restored := t.TempDir()
	if err := os.CopyFS(filepath.Join(restored, r.Input), os.DirFS(filepath.Join(dir, r.Input))); err != nil {
		t.Fatal(err)
	}
	for link, to := range r.Symlinks {
		link = filepath.Join(restored, r.Input, link)
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return restored
}

func (c *corpus) readExpected(t *testing.T, r recording, b recordedBundle, file string, into any) {
	t.Helper()

	folder := b.Folder
	if folder == "" {
		folder = b.Name
	}
	readYAML(t, filepath.Join(c.dir, "expected", r.ID, folder, file), into)
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()

	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
