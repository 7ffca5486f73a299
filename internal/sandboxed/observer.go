package sandboxed

import (
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// eventKind is the kind of a step of a rendering.
type eventKind uint8

const (
	called   eventKind = iota // a function returned
	field                     // a field was read
	branched                  // an if, with or range was run
	included                  // a template was run for its text
)

// event is one step of a rendering, with the steps inside it.
type event struct {
	kind eventKind
	// what is the name of a function or a template, or the kind of a branch.
	what string
	// arguments are the arguments of a function, the path of a field, or the value that a branch
	// depends on.
	arguments []summary
	result    summary
	inner     []*event
	// elements are hashes of the elements of the list of a range.
	elements []uint64
	// text is a hash of the characters that a branch or a template wrote.
	text uint64
	// variables are the variables that a branch assigned.
	variables []summary
	// source is the code of a branch or a template.
	source *source

	first any // the first argument, while a function that reads one field runs
	names []any
	at    int // where the text of a branch begins
}

// observer records the events of one rendering.
type observer struct {
	*summarizer

	open []*event
	// outputs are the texts that are being written.
	outputs []*strings.Builder
	sources []*source
	// templates are the sources of templates by name.
	templates map[string]*source
	events    int
	// live is called when a template reads a field that depends on the cluster or on earlier
	// revisions.
	live func(field string)
	// aside reports whether the output of the running template is not applied.
	aside func() bool
	// failed is true if this rendering cannot be compared.
	failed bool
}

// maxEvents limits the memory for the events of one file.
const maxEvents = 1 << 18

func (o *observer) template(name string) *source { return o.templates[name] }

// addTemplate reads a template. If a text passed to tpl defines it again, it never counts as quiet.
func (o *observer) addTemplate(name string, root *parse.ListNode) {
	_, known := o.templates[name]
	read := readSource("", o.template, nil, root)
	read.quiet = read.quiet && !known
	o.templates[name] = read
}

func (o *observer) give(e *event) {
	if o.events++; o.events > maxEvents || o.exhausted() {
		o.failed = true
	}
	if o.failed {
		return
	}
	if last := len(o.open) - 1; last >= 0 {
		o.open[last].inner = append(o.open[last].inner, e)
	}
}

func (o *observer) push(e *event) {
	o.give(e)
	o.open = append(o.open, e)
}

func (o *observer) top() *event {
	if len(o.open) == 0 {
		return &event{}
	}
	return o.open[len(o.open)-1]
}

// pop closes events down to the one at depth.
func (o *observer) pop(depth int) *event {
	if depth < 0 || depth >= len(o.open) {
		o.failed = true
		return &event{}
	}
	if depth != len(o.open)-1 {
		o.failed = true
	}
	closed := o.open[depth]
	o.open = o.open[:depth]
	return closed
}

// start opens the event of a file.
func (o *observer) start() *event {
	root := &event{kind: included}
	o.open, o.events = []*event{root}, 0
	return root
}

// output returns the text that is being written.
func (o *observer) output() string {
	if len(o.outputs) == 0 {
		return ""
	}
	return o.outputs[len(o.outputs)-1].String()
}

// Names of the functions that the observer adds to templates.
const (
	hookCall     = "observeCall"
	hookArgument = "observeArgument"
	hookResult   = "observeResult"
	hookField    = "observeField"
	hookBase     = "observeBase"
	hookChain    = "observeChain"
	hookBranch   = "observeBranch"
	hookEnd      = "observeEnd"
	hookLive     = "observeLive"
	hookJump     = "observeJump"
)

// readsField reports whether a function reads at most one field of its first argument.
func readsField(function string) bool {
	return function == "index" || function == "get" || function == "hasKey"
}

func (o *observer) hooks() template.FuncMap {
	return template.FuncMap{
		hookCall: func(function string) int {
			o.push(&event{kind: called, what: function})
			return len(o.open) - 1
		},
		hookArgument: func(value any) any {
			o.argument(o.top(), value)
			return value
		},
		hookResult: func(depth int, value any) any {
			closed := o.pop(depth)
			if readsField(closed.what) && len(closed.names) > 0 {
				o.read(closed, closed.first, closed.names, value)
				closed.first, closed.names = nil, nil
				return value
			}
			closed.result = o.of(value)
			return value
		},
		hookField: func(value, base any, names ...string) any {
			e := &event{kind: field}
			o.give(e)
			o.read(e, base, anys(names), value)
			return value
		},
		hookBase: func(value any) any {
			o.push(&event{kind: field, first: value})
			return value
		},
		hookChain: func(value any, names ...string) any {
			closed := o.pop(len(o.open) - 1)
			o.read(closed, closed.first, anys(names), value)
			closed.first = nil
			return value
		},
		hookBranch: o.branch,
		hookEnd: func(id int, variables ...any) string {
			closed := o.pop(len(o.open) - 1)
			if closed.source != o.sources[id] {
				o.failed = true
			}
			closed.text = o.characters(o.output()[min(closed.at, len(o.output())):])
			for _, variable := range variables {
				closed.variables = append(closed.variables, o.of(variable))
			}
			return ""
		},
		hookLive: func(name string) string {
			o.live(name)
			return name
		},
		hookJump: func() string {
			o.failed = o.failed || !o.aside()
			return ""
		},
	}
}

func anys(names []string) []any {
	made := make([]any, len(names))
	for i, name := range names {
		made[i] = name
	}
	return made
}

func (o *observer) argument(e *event, value any) {
	if readsField(e.what) {
		if e.first == nil && e.names == nil {
			e.first, e.names = value, []any{}
			return
		}
		e.names = append(e.names, value)
		return
	}
	if v := concrete(reflect.ValueOf(value)); readsKindOnly(e.what) && v.IsValid() && v.Kind() == reflect.Map {
		e.arguments = append(e.arguments, summary{hash: o.keys(v), kind: mapped})
		return
	}
	e.arguments = append(e.arguments, o.of(value))
}

// readsKindOnly reports whether the result of a function for a map depends only on the map's kind
// and keys.
func readsKindOnly(function string) bool {
	switch function {
	case "empty", "not", "len", "kindIs", "kindOf", "typeIs", "typeOf":
		return true
	}
	return false
}

// read records that a field of base was read.
func (o *observer) read(e *event, base any, names []any, value any) {
	if o.aside() {
		return
	}
	for _, name := range names {
		if name == "Values" {
			break
		}
		if text, ok := name.(string); ok && isLive(text) {
			o.live(text)
		}
	}
	hash, isList := o.path(base, names)
	way := summary{hash: hash, bag: hash}
	if isList {
		way.kind = nesting
	}
	e.arguments = []summary{way, o.of(names)}
	e.result = o.shallow(value)
}

// shallow returns a summary that for a map includes only its keys.
func (o *observer) shallow(value any) summary {
	if v := concrete(reflect.ValueOf(value)); v.IsValid() && v.Kind() == reflect.Map {
		hash := o.keys(v)
		return summary{hash: hash, bag: hash, kind: mapped}
	}
	return o.of(value)
}

// branch records the value that an if, with or range depends on.
func (o *observer) branch(id int, value any) any {
	e := &event{kind: branched, source: o.sources[id], what: o.sources[id].kind, at: len(o.output())}
	e.arguments = []summary{o.shallow(value)}
	if v := concrete(reflect.ValueOf(value)); e.what == rangeBranch && v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) {
		for i := range v.Len() {
			e.elements = append(e.elements, o.deep(v.Index(i), 1))
		}
	}
	o.push(e)
	return value
}

// include runs a template for its text, and records that.
func (o *observer) include(function, of string, run func(out *strings.Builder) error) (string, error) {
	e := &event{kind: included, what: function, arguments: []summary{o.of(of)}}
	if function == "include" {
		e.source = o.template(of)
	}
	o.push(e)
	depth := len(o.open) - 1
	var out strings.Builder
	o.outputs = append(o.outputs, &out)
	err := run(&out)
	o.outputs = o.outputs[:len(o.outputs)-1]
	if err == nil {
		closed := o.pop(depth)
		closed.text, closed.result = o.characters(out.String()), o.of(out.String())
	}
	return out.String(), err
}
