package acceptance_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Objects of the documents below. NAME is replaced by the name of the document.
const (
	documentYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
	documentJSON = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"}}`
	documentHook = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME-hook","annotations":{"helm.sh/hook":"pre-install"}}}`
	// What a document hides is of a kind that the policies of the tests forbid.
	hiddenYAML = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: NAME-hidden}\nspec: {podSelector: {}}\n"
	hiddenJSON = `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"NAME-hidden"},"spec":{"podSelector":{}}}`
)

// attackDocument is a file of a bundle that two readers can read in different ways.
type attackDocument struct {
	text string
	// path is the file in a bundle of plain manifests, "" for a template of a chart.
	path string
	// isBuilt is true if a kustomization builds the file, so that no error can name it.
	isBuilt bool
	// isWellFormed is true if the bundle must be deployed.
	isWellFormed bool
}

// attackDocuments are files that the readers of Helm and of the provider were seen to read in
// different ways, their siblings, and some that must be deployed.
func attackDocuments() map[string]attackDocument {
	const (
		list = "apiVersion: v1\nkind: List\n"
		hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME-hook, annotations: {helm.sh/hook: pre-install}}\n"
	)
	return map[string]attackDocument{
		// Several documents in one.
		"bom-before-empty":    {text: "\ufeff{}x: 1\n" + hiddenYAML},
		"bom-before-yaml":     {text: "\ufeff" + documentYAML},
		"bom-before-json":     {text: "\ufeff" + documentJSON},
		"bom-before-stream":   {text: "\ufeff" + documentJSON + "\n" + hiddenJSON},
		"bom-before-other":    {text: "\ufeff" + documentJSON + "x: 1\n" + hiddenYAML},
		"nel-before-yaml":     {text: "\u0085" + documentYAML},
		"nel-separator":       {text: "# first\u0085---\n" + documentYAML},
		"nel-separator-other": {text: "# first\u0085---\n" + documentYAML + "\u0085---\n" + hiddenYAML},
		"nel-between":         {text: documentYAML + "\u0085---\n" + hiddenYAML},
		"ls-between":          {text: documentYAML + "#\u2028---\n" + hiddenYAML},
		"dots-between":        {text: documentYAML + "...\n" + hiddenYAML},
		"dots-and-dashes":     {text: documentYAML + "...\n---\n" + hiddenYAML},
		"stream":              {text: documentJSON + "\n" + hiddenJSON},
		"stream-without-end":  {text: documentJSON + "{"},
		"stream-and-yaml":     {text: documentJSON + "\n" + hiddenYAML},
		"stream-in-hook":      {text: documentHook + "\n" + hiddenJSON},
		"stream-in-one-line":  {text: documentHook + hiddenJSON},
		"yaml-after-hook":     {text: documentHook + "\n" + hiddenYAML},
		"nel-before-hook":     {text: "\u0085" + documentHook + hiddenJSON},
		"spaces-before-hook":  {text: strings.Repeat(" ", 5000) + documentHook + hiddenJSON},
		"file-with-stream":    {path: "m.yaml", text: documentJSON + "\n" + hiddenJSON},
		"file-with-hook":      {path: "m.yaml", text: documentHook + "\n" + hiddenJSON},
		"file-with-nel":       {path: "m.yaml", text: "# first\u0085---\n" + documentYAML},
		"file-with-bom":       {path: "m.yaml", text: "\ufeff{}x: 1\n" + hiddenYAML},
		"built-with-stream":   {path: "m.yaml", text: documentJSON + "\n" + hiddenJSON, isBuilt: true},
		"built-with-hook":     {path: "m.yaml", text: documentHook + hiddenJSON, isBuilt: true},
		"built-with-items":    {path: "m.yaml", text: documentYAML + "items: [" + hiddenJSON + ", null]\n", isBuilt: true},
		"built-with-null":     {path: "m.yaml", text: hook + "items: [" + hiddenJSON + ", null]\n", isBuilt: true},
		"carriage-returns":    {text: strings.ReplaceAll(documentYAML, "\n", "\r") + "---\r" + strings.ReplaceAll(hiddenYAML, "\n", "\r")},
		// Lists that are none.
		"items-null":         {text: documentYAML + "items: null\n"},
		"items-null-hidden":  {text: hiddenYAML + "items: null\n"},
		"items-text":         {text: documentYAML + "items: x\n"},
		"items-map":          {text: documentYAML + "items: {}\n"},
		"items-and-null":     {text: documentYAML + "items: [" + hiddenJSON + ", null]\n"},
		"items-and-text":     {text: documentYAML + "items: [" + hiddenJSON + ", x]\n"},
		"items-and-list":     {text: documentYAML + "items: [" + hiddenJSON + ", []]\n"},
		"items-in-hook":      {text: hook + "items: [" + hiddenJSON + ", null]\n"},
		"items-in-list-hook": {text: list + "metadata: {annotations: {helm.sh/hook: pre-install}}\nitems: [" + hiddenJSON + ", null]\n"},
		"list-in-list":       {text: list + "items:\n- {apiVersion: v1, kind: List, items: [" + hiddenJSON + "]}\n"},
		// Spellings that a JSON reader of Go takes for the same key. One K is the sign of Kelvin,
		// one s is long.
		"spelled-items":             {text: documentYAML + "Items: [" + hiddenJSON + "]\n"},
		"spelled-items-long":        {text: documentYAML + "\"item\\u017f\": [" + hiddenJSON + "]\n"},
		"spelled-items-null":        {text: documentYAML + "ITEMS: null\n"},
		"spelled-kind":              {text: documentYAML + "Kind: NetworkPolicy\n"},
		"spelled-kind-kelvin":       {text: documentYAML + "\"\\u212aind\": NetworkPolicy\n"},
		"spelled-version":           {text: documentYAML + "APIVersion: networking.k8s.io/v1\n"},
		"spelled-metadata":          {text: documentYAML + "Metadata: {annotations: {helm.sh/hook: pre-install}}\n"},
		"spelled-metadata-hidden":   {text: hiddenYAML + "Metadata: {annotations: {helm.sh/hook: pre-install}}\n"},
		"spelled-annotations":       {text: strings.Replace(documentYAML, "NAME}", "NAME, Annotations: {helm.sh/hook: pre-install}}", 1)},
		"spelled-annotations-long":  {text: strings.Replace(documentYAML, "NAME}", "NAME, \"annotation\\u017f\": {helm.sh/hook: pre-install}}", 1)},
		"spelled-annotations-never": {text: strings.Replace(documentYAML, "NAME}", "NAME, Annotations: {helm.sh/hook: never}}", 1)},
		// What charts have.
		"fine-list":       {text: list + "items:\n- " + documentJSON + "\n- " + hiddenJSON + "\n", isWellFormed: true},
		"fine-empty-list": {text: list + "items: []\n---\n" + documentYAML, isWellFormed: true},
		"fine-typed-list": {text: "apiVersion: v1\nkind: ConfigMapList\nitems:\n- {metadata: {name: NAME}}\n", isWellFormed: true},
		"fine-list-hook":  {text: list + "metadata: {annotations: {helm.sh/hook: pre-install}}\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME-hook}}, " + hiddenJSON + "]\n", isWellFormed: true},
		"fine-json":       {text: documentJSON + "\n---\n" + hiddenJSON, isWellFormed: true},
		"fine-file":       {path: "m.yaml", text: documentJSON + "\n---\n" + hiddenJSON, isWellFormed: true},
	}
}

// files are the files of the bundle of a document. The name of its file is that of the bundle, so
// that a text that names the file names the bundle.
func (d attackDocument) files(name string) (files map[string]string, file string) {
	text := strings.ReplaceAll(d.text, "NAME", name)
	if d.path != "" {
		file = name + d.path[1:] // m.yaml becomes NAME.yaml.
		files = map[string]string{file: text, "cm.yaml": configMap(name+"-beside", "x")}
		if d.isBuilt {
			files["kustomization.yaml"] = "resources: [" + file + ", cm.yaml]\n"
			file = name
		}
		return files, file
	}
	file = "templates/" + name + ".yaml"
	return chartWith(name+"-beside", map[string]string{file: text}), file
}

// Each document is either held with the name of its file, or deployed exactly as the plan and the
// policies have seen it. One target has all of them: what cannot be rendered is held.
func TestAttackDocuments(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, how := range map[string]confinement{
		"open":       {},
		"restricted": confinements()["by its namespace"],
		"an account": confinements()["by an account"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			if how.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			documents, bundles, files := attackDocuments(), map[string]map[string]string{}, map[string]string{}
			for name, document := range documents {
				bundles[name], files[name] = document.files(name)
			}
			r.commit(t, bundles)
			r.configure(t, how, "on_error = \"hold\"")
			// A repository with such a file of plain manifests cannot be read at all.
			for _, name := range r.unreadable(t) {
				if documents[name].isWellFormed {
					t.Errorf("%s cannot be read, and is well-formed", name)
				}
				delete(documents, name)
				delete(bundles, name)
			}
			r.commit(t, bundles)

			denied := how
			denied.policies = "  policies = { tenants = { applies_to = { all = true }, denied_kinds = [\"NetworkPolicy\"] } }\n"
			r.configure(t, denied, "on_error = \"hold\"")
			refused, err := r.w.try(t, "plan", "-input=false")
			if err == nil {
				t.Errorf("the policies refuse nothing:\n%s", refused)
			}
			r.configure(t, how, "on_error = \"hold\"")
			shown, planned, err := r.w.seeObjects(t)
			if err != nil {
				t.Fatalf("the plan holds nothing: %v\n%s", err, shown)
			}
			r.expectNoWrites(t, "plan")

			r.w.attempt(t, "apply", "-input=false", "tfplan")
			r.expectWithin(t, "apply")
			live := r.live(t)
			var held []string
			for _, name := range slices.Sorted(maps.Keys(documents)) {
				of := planned["a/"+name]
				if len(of) == 0 {
					held = append(held, name)
				}
				problems := r.judge(name, of, live, unwrapped(shown), unwrapped(refused))
				if len(of) == 0 && documents[name].isWellFormed {
					problems = append(problems, "it is held, and is well-formed")
				}
				if len(of) == 0 && !strings.Contains(unwrapped(shown), files[name]) {
					problems = append(problems, "it is held without the name of its file")
				}
				if len(problems) > 0 {
					t.Errorf("%s: %s", name, strings.Join(problems, "; "))
				}
			}

			r.configure(t, how, "")
			output, err := r.w.try(t, "plan", "-input=false")
			if (err != nil) != (len(held) > 0) {
				t.Errorf("%d bundles are held, and without on_error the plan has the error %v:\n%s", len(held), err, output)
			}
			for _, name := range held {
				if !strings.Contains(unwrapped(errorsIn(output)), files[name]) {
					t.Errorf("%s: the error of the plan does not name %s", name, files[name])
				}
				if documents[name].path != "" && !documents[name].isBuilt { // A template has other lines than its output.
					expectPlaces(t, output, []string{files[name]})
				}
			}
			r.configure(t, how, "on_error = \"hold\"")
			r.w.attempt(t, destroying()...)
			r.expectReleases(t, 0)
			left := r.live(t)
			for name, of := range planned {
				for _, object := range of {
					if left[object] {
						t.Errorf("%s: %s was deployed as an object, and the destroy leaves it", strings.TrimPrefix(name, "a/"), object)
					}
				}
			}
			r.out.expectUntouched(t, "destroy")
		})
	}
}

// unreadable plans, and returns the bundles whose files the plan refuses with their lines.
func (r *reach) unreadable(t *testing.T) []string {
	t.Helper()
	output, _ := r.w.attempt(t, "plan", "-input=false")
	refused := regexp.MustCompile(`Cannot read the chart of bundle (\S+)`).FindAllStringSubmatch(output, -1)
	names := make([]string, len(refused))
	for i, match := range refused {
		names[i] = match[1]
		expectPlaces(t, output, []string{names[i] + ".yaml"})
	}
	r.expectNoWrites(t, "plan")
	return names
}

// live are the objects in the namespace of the test, by their keys in a plan.
func (r *reach) live(t *testing.T) map[string]bool {
	t.Helper()
	client, found := r.client(t, 0), map[string]bool{}
	configMaps, err := client.CoreV1().ConfigMaps(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range configMaps.Items {
		found[fmt.Sprintf("ConfigMap/%s/%s", r.namespace, configMaps.Items[i].Name)] = true
	}
	policies, err := client.NetworkingV1().NetworkPolicies(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range policies.Items {
		found[fmt.Sprintf("NetworkPolicy.networking.k8s.io/%s/%s", r.namespace, policies.Items[i].Name)] = true
	}
	return found
}

// judge compares the objects of a bundle on the cluster with what the plan and the policies have
// seen. A hook is not among the objects of a plan, and the text of the plan names it.
func (r *reach) judge(name string, planned []string, live map[string]bool, shown, refused string) (problems []string) {
	kinds := map[string]string{
		"": "ConfigMap", "-hook": "ConfigMap", "-beside": "ConfigMap", "-hidden": "NetworkPolicy.networking.k8s.io",
	}
	for _, suffix := range slices.Sorted(maps.Keys(kinds)) {
		object := fmt.Sprintf("%s/%s/%s", kinds[suffix], r.namespace, name+suffix)
		if !live[object] {
			continue
		}
		if !slices.Contains(planned, object) && (suffix == "" || !isNamed(shown, name+suffix)) {
			problems = append(problems, object+" was created, and the plan does not name it")
		}
		if suffix == "-hidden" && !isNamed(refused, name+suffix) {
			problems = append(problems, object+" was created, and the policies have not seen it")
		}
	}
	for _, object := range planned {
		if !live[object] {
			problems = append(problems, object+" is in the plan, and was not created")
		}
	}
	return problems
}

// isNamed reports whether a text has a name that is not a part of a longer one.
func isNamed(text, name string) bool {
	return regexp.MustCompile(`(^|[^-.\w])` + regexp.QuoteMeta(name) + `($|[^-\w])`).MatchString(text)
}

// crdsDocuments are files below crds/ that begin with a definition and hide other objects. KIND is
// replaced by the name of the file.
func crdsDocuments() map[string]string {
	const (
		definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"KINDs.NAMESPACE.example.com"},` +
			`"spec":{"group":"NAMESPACE.example.com","scope":"Namespaced","names":{"kind":"KIND","plural":"KINDs"},` +
			`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}`
		binding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"NAMESPACE-KIND"},` +
			`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`
		made = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"KIND","namespace":"ELSEWHERE"}}`
	)
	return map[string]string{
		"stream.json": definition + "}\n" + binding + "\n" + made + "\n",
		"joined.json": definition + "}" + binding + made,
		"called.yaml": definition + "}\n" + binding + "\n" + made + "\n",
		"spaced.json": strings.Repeat(" ", 5000) + definition + "}\n" + binding + "\n" + made + "\n",
		"nel.json":    "\u0085" + definition + "}\n" + binding + "\n" + made + "\n",
		"mixed.json":  definition + "}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: KIND, namespace: ELSEWHERE}\n",
		"hidden.json": definition + `,"items":[` + binding + "," + made + ",null]}",
		"listed.yaml": definition + `,"items":[` + binding + "," + made + ",[]]}",
	}
}

// A file below crds/ hides objects of the whole cluster and of another namespace. The plan is an
// error that names the file, and nothing is created.
func TestAttackDefinitionsHideObjects(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	hows := confinements()
	hows["by nothing"] = confinement{}
	hows["by nothing, replaced"] = confinement{target: "crds = \"create_replace\""}
	// A definition is an object of the whole cluster.
	hows["by policies"] = confinement{policies: "  policies = { tenants = { applies_to = { all = true }, denied_kinds = [\"ClusterRoleBinding\", \"Namespace\"] } }\n"}
	for name, how := range hows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReach(t, env)
			if how.hasAccount {
				r.makeAccount(t, 0, r.namespace)
			}
			bundles, files := map[string]map[string]string{}, map[string]string{}
			for file, text := range crdsDocuments() {
				name, _, _ := strings.Cut(file, ".")
				files[name] = "crds/" + file
				bundles[name] = chartWith(name, map[string]string{files[name]: strings.ReplaceAll(text, "KIND", name)})
				t.Cleanup(func() {
					r.deleteBinding(t, r.namespace+"-"+name)
					r.deleteDefinition(t, name+"s."+r.namespace+".example.com")
				})
			}
			r.commit(t, bundles)
			r.configure(t, how, how.target)
			expectPlaces(t, errorsIn(r.w.refuse(t, []string{"plan", "-input=false"})), slices.Sorted(maps.Values(files)))
			r.expectNoWrites(t, "plan")
			r.w.attempt(t, applying...)
			r.expectNoWrites(t, "apply")
			for name, file := range files {
				if _, err := r.client(t, 0).RbacV1().ClusterRoleBindings().Get(t.Context(), r.namespace+"-"+name, metav1.GetOptions{}); err == nil {
					t.Errorf("%s made a ClusterRoleBinding", file)
				}
			}
			r.out.expectUntouched(t, "apply")
			r.w.destroyOutput(t)
			r.out.expectUntouched(t, "destroy")
		})
	}
}

// expectPlaces wants the names of files in an output, each with a line.
func expectPlaces(t *testing.T, output string, files []string) {
	t.Helper()
	var missing []string
	for _, file := range files {
		if !regexp.MustCompile(regexp.QuoteMeta(file) + `(:\d+|.{0,40}line \d+)`).MatchString(unwrapped(output)) {
			missing = append(missing, file)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the error does not name, with a line: %s\n%s", strings.Join(missing, ", "), output)
	}
}

// deleteDefinition deletes a definition if it is there.
func (s *fixture) deleteDefinition(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := cleanupContext(t)
	defer cancel()
	if err := s.dynamic(t, 0).Resource(crdResource()).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Logf("removing a definition of the test: %v", err)
	}
}
