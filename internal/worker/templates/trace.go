package templates

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// tracer is a rendering of a chart that records what its templates reach. It runs them in the same
// way as Helm (helm.sh/helm/v3/pkg/engine), because Helm's engine cannot be observed.
//
// If a rendering reaches nothing that can have another result, it has the same result at any time
// and on any machine. So code in a branch that is not run, in a partial that is not included, or in
// a text that tpl does not run does not count. The caller has to compare the output with Helm's.
type tracer struct {
	// files are the outputs of templates by name.
	files map[string]string
	// reached are the places that count, in the order in which they were first reached.
	reached reach

	templates *template.Template
	functions template.FuncMap
	texts     map[string]string // of files, by name
	walked    map[*parse.Tree]bool
	injected  int
	aside     bool // NOTES.txt is running, whose output is not applied.
	mutated   bool // NOTES.txt has changed a map that other templates can read.
	notes     reach
}

// readIndirectly is the place of templates that read capabilities without using their name.
func readIndirectly() templatePosition { return templatePosition{what: readIndirectlyField} }

const readIndirectlyField = "." + capabilitiesField + " indirectly"

// templatePosition is a place in a template.
type templatePosition struct {
	file string // "" for a text that tpl runs
	line int
	what string // a function, or a field below the root
}

func (t templatePosition) String() string {
	switch {
	case t == readIndirectly():
		return "a template reads " + t.what
	case t.file == "":
		return "a text passed to tpl uses " + t.what
	}
	return fmt.Sprintf("template %s:%d uses %s", t.file, t.line, t.what)
}

// notesFile is the file that Helm prints after an install.
const notesFile = "NOTES.txt"

// trace renders a chart with the values that Helm made for it, and with the functions of a seed. If
// templates fail, it returns an error and a tracer with what they reached until then.
func trace(c *chart.Chart, values chartutil.Values, p Environment, number int) (*tracer, error) {
	t := &tracer{}
	keys := sync.OnceValue(func() []string { return candidateKeys(c, values) })
	files, err := t.prepare(c, values, p, &seed{number: number, keys: keys})
	if err != nil {
		return t, err
	}
	for _, file := range files {
		if err = t.run(file); err != nil {
			break
		}
	}
	if t.mutated || err != nil {
		t.reached = append(t.reached, t.notes...)
	}
	return t, err
}

// prepare reads the templates of a chart. It returns the files to run, in the order of Helm.
func (t *tracer) prepare(c *chart.Chart, values chartutil.Values, p Environment, s *seed) ([]templateContext, error) {
	t.files = map[string]string{}
	t.texts = map[string]string{}
	t.walked = map[*parse.Tree]bool{}
	t.templates = template.New("gotpl").Option("missingkey=zero")
	var capabilities any = p.Capabilities
	if p.ask != nil || p.anyVersion {
		capabilities = tracedCapabilities{of: p.Capabilities, ask: p.ask, read: func() { t.reach(readIndirectly()) }}
	}
	contexts, err := contextsOf(c, values, capabilities)
	if err != nil {
		return nil, err
	}
	includes := map[string]int{}
	t.functions = t.noting(templateFunctions())
	s.replace(t.functions)
	if p.Lookup != nil {
		t.functions[lookupFunction] = p.Lookup.asHelm
	}
	t.templates.Funcs(t.functions).Funcs(t.including(t.templates, includes))
	names := slices.Collect(maps.Keys(contexts))
	slices.SortFunc(names, func(a, b string) int {
		// Deeper ones first, as Helm sorts them.
		if deeper := strings.Count(b, "/") - strings.Count(a, "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(b, a)
	})
	var files []templateContext
	for _, name := range names {
		t.texts[name] = contexts[name].text
		if _, err := t.templates.New(name).Parse(contexts[name].text); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if !strings.HasPrefix(path.Base(name), "_") {
			files = append(files, contexts[name])
		}
	}
	t.instrumentAll(t.templates)
	return files, nil
}

// run executes one file.
func (t *tracer) run(in templateContext) (err error) {
	name := in.name
	defer func() {
		if raised := recover(); raised != nil {
			err = fmt.Errorf("rendering %s: %T", name, raised)
		}
	}()
	t.aside = isNotes(name)
	in.values["Template"] = chartutil.Values{"Name": name, "BasePath": in.base}
	var out strings.Builder
	if err := t.templates.ExecuteTemplate(&out, name, in.values); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	t.files[name] = withoutNoValue(out.String())
	return nil
}

// withoutNoValue removes the text that Go writes for a missing value, as Helm does.
func withoutNoValue(text string) string { return strings.ReplaceAll(text, "<no value>", "") }

// reach records a place.
func (t *tracer) reach(s templatePosition) {
	met := &t.reached
	if t.aside {
		met = &t.notes
	}
	if !slices.Contains(*met, s) {
		*met = append(*met, s)
	}
}

// noting replaces the functions that change a map, so that a call by NOTES.txt is recorded.
func (t *tracer) noting(functions template.FuncMap) template.FuncMap {
	for _, name := range []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		functions[name] = reporting(functions[name], func(_, _ []reflect.Value) { t.mutated = t.mutated || t.aside })
	}
	functions["getHostByName"] = func(string) string { return "" } // As in runEngine.
	return functions
}

// reporting returns a function that calls function, and then tell with the arguments and results.
func reporting(function any, tell func(arguments, results []reflect.Value)) any {
	called := reflect.ValueOf(function)
	return reflect.MakeFunc(called.Type(), func(arguments []reflect.Value) []reflect.Value {
		call := called.Call
		if called.Type().IsVariadic() {
			call = called.CallSlice
		}
		results := call(arguments)
		tell(arguments, results)
		return results
	}).Interface()
}

// maxIncludes is how often a template may include itself at the same time, as in Helm.
const maxIncludes = 1000

var errNested = errors.New("a template includes itself without end")

// including returns the functions that run other templates.
func (t *tracer) including(in *template.Template, includes map[string]int) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			if includes[name] > maxIncludes {
				return "", errNested
			}
			includes[name]++
			defer func() { includes[name]-- }()
			var out strings.Builder
			err := in.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"tpl": func(text string, data any) (string, error) {
			inner, err := in.Clone()
			if err != nil {
				return "", err
			}
			inner.Option("missingkey=zero").Funcs(t.including(inner, includes))
			run, err := inner.New(in.Name()).Parse(text)
			if err != nil {
				return "", err
			}
			t.instrumentAll(inner)
			var out strings.Builder
			err = run.Execute(&out, data)
			return withoutNoValue(out.String()), err
		},
	}
}

// templateContext is a file of a chart and the input that it is run with.
type templateContext struct {
	name   string
	text   string
	base   string
	values chartutil.Values
}

// contextsOf returns the files of a chart and its subcharts by name, with the input that Helm runs
// them with.
func contextsOf(c *chart.Chart, values chartutil.Values, capabilities any) (map[string]templateContext, error) {
	root, err := rootContext(c, values)
	if err != nil {
		return nil, err
	}
	contexts := map[string]templateContext{}
	addContexts(contexts, c, root, capabilities)
	return contexts, nil
}

func addContexts(to map[string]templateContext, c *chart.Chart, context map[string]any, capabilities any) {
	context[capabilitiesField] = capabilities
	if subcharts, ok := context["Subcharts"].(map[string]any); ok {
		for _, child := range c.Dependencies() {
			if below, ok := subcharts[child.Name()].(map[string]any); ok {
				addContexts(to, child, below, capabilities)
			}
		}
	}
	for _, file := range c.Templates {
		if file == nil || isLibrary(c) && !strings.HasPrefix(path.Base(file.Name), "_") {
			continue
		}
		folder := c.ChartFullPath()
		name := path.Join(folder, file.Name)
		to[name] = templateContext{name: name, text: string(file.Data), base: path.Join(folder, "templates"), values: context}
	}
}

// catcher is passed to a template, which passes its own input back to it.
type catcher struct{ caught *chartutil.Values }

func (c catcher) Catch(context chartutil.Values) string {
	*c.caught = context
	return ""
}

// rootContext finds out with which input Helm runs the templates of a chart.
func rootContext(c *chart.Chart, values chartutil.Values) (chartutil.Values, error) {
	const catching = "{{ .Capabilities.Catch . }}"
	if isLibrary(c) {
		return chartutil.Values{}, nil // A library runs no template of its own.
	}
	bare := render.CopyChart(c)
	withoutTemplates(bare)
	bare.Templates = []*chart.File{{Name: "templates/catch.yaml", Data: []byte(catching)}}
	values = maps.Clone(values)
	var caught chartutil.Values
	values[capabilitiesField] = catcher{caught: &caught}
	if _, err := engine.Render(bare, values); err != nil {
		return nil, fmt.Errorf("reading the input of templates: %w", err)
	}
	return caught, nil
}

func withoutTemplates(c *chart.Chart) {
	c.Templates = nil
	for _, child := range c.Dependencies() {
		withoutTemplates(child)
	}
}

func isLibrary(c *chart.Chart) bool { return strings.EqualFold(c.Metadata.Type, "library") }
