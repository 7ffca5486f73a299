package templates

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// instrumentAll changes templates so that they report each function or field that they reach and
// that can have another result.
func (t *tracer) instrumentAll(in *template.Template) {
	for _, one := range in.Templates() {
		if one.Tree == nil || t.walked[one.Tree] {
			continue
		}
		t.walked[one.Tree] = true
		instrumenter{tracing: t, in: in, tree: one.Tree}.list(one.Root)
	}
}

// instrumenter changes one template.
type instrumenter struct {
	tracing *tracer
	in      *template.Template
	tree    *parse.Tree
}

func (i instrumenter) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			i.pipe(node.Pipe)
		case *parse.TemplateNode:
			i.pipe(node.Pipe)
		case *parse.IfNode:
			i.branch(&node.BranchNode)
		case *parse.RangeNode:
			i.branch(&node.BranchNode)
		case *parse.WithNode:
			i.branch(&node.BranchNode)
		case *parse.ListNode:
			i.list(node)
		}
	}
}

func (i instrumenter) branch(branch *parse.BranchNode) {
	i.pipe(branch.Pipe)
	i.list(branch.List)
	i.list(branch.ElseList)
}

func (i instrumenter) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	for _, command := range pipe.Cmds {
		i.command(command)
	}
}

func (i instrumenter) command(command *parse.CommandNode) {
	for at, argument := range command.Args {
		called, ok := argument.(*parse.IdentifierNode)
		if !ok {
			command.Args[at] = i.argument(argument)
			continue
		}
		printsFine := at == 0 && called.Ident == "printf" && len(command.Args) > 1 && printsNoAddress(command.Args[1])
		if !printsFine {
			i.call(called)
		}
	}
}

func printsNoAddress(format parse.Node) bool {
	text, ok := format.(*parse.StringNode)
	return ok && !printsAddress(text.Text)
}

// call hooks a call of a function.
func (i instrumenter) call(called *parse.IdentifierNode) {
	function := called.Ident
	if !isNonDeterministic(function) {
		return
	}
	place := i.site(called.Position(), function)
	called.Ident = i.addFunction(reporting(i.tracing.functions[function], func(arguments, results []reflect.Value) {
		if !couldDiffer(function, arguments, results) {
			return
		}
		reached := place
		if function == lookupFunction {
			reached.what = lookupOf(arguments[0].String(), arguments[1].String())
		}
		i.tracing.reach(reached)
	}))
}

// addFunction gives templates a function and returns its name.
func (i instrumenter) addFunction(function any) string {
	i.tracing.injected++
	name := fmt.Sprintf("hook%d", i.tracing.injected)
	i.in.Funcs(template.FuncMap{name: function})
	return name
}

func (i instrumenter) site(at parse.Pos, what string) templatePosition {
	text, ok := i.tracing.texts[i.tree.ParseName]
	if !ok || int(at) > len(text) {
		return templatePosition{what: what}
	}
	_, name, _ := strings.Cut(i.tree.ParseName, "/") // The first part is the name of the chart, not a folder.
	return templatePosition{file: path.Clean(name), line: 1 + strings.Count(text[:at], "\n"), what: what}
}

func (i instrumenter) argument(node parse.Node) parse.Node {
	switch node := node.(type) {
	case *parse.PipeNode:
		i.pipe(node)
	case *parse.ChainNode:
		node.Node = i.argument(node.Node)
		if at := liveField(node.Field); at >= 0 {
			prefix := parse.Node(&parse.ChainNode{NodeType: node.NodeType, Pos: node.Pos, Node: node.Node, Field: node.Field[:at+1]})
			return i.report(prefix, node.Field[at+1:], node.Field[at])
		}
	case *parse.FieldNode:
		if at := liveField(node.Ident); at >= 0 {
			prefix := &parse.FieldNode{NodeType: node.NodeType, Pos: node.Pos, Ident: node.Ident[:at+1]}
			return i.report(prefix, node.Ident[at+1:], node.Ident[at])
		}
	case *parse.VariableNode:
		if at := liveField(node.Ident[1:]); at >= 0 {
			at++
			prefix := &parse.VariableNode{NodeType: node.NodeType, Pos: node.Pos, Ident: node.Ident[:at+1]}
			return i.report(prefix, node.Ident[at+1:], node.Ident[at])
		}
	case *parse.StringNode:
		// index .Release "Revision" reads the same field as .Release.Revision.
		if isLive(node.Text) {
			return i.report(node, nil, node.Text)
		}
	}
	return node
}

// liveField returns the index of the first field in a chain that depends on the cluster or on
// earlier revisions, -1 if there is none. Values never depend on these, even if they have such a
// name.
func liveField(fields []string) int {
	i := slices.IndexFunc(fields, func(field string) bool { return isLive(field) || field == "Values" })
	if i < 0 || fields[i] == "Values" {
		return -1
	}
	if i+1 < len(fields) && fields[i+1] == "HelmVersion" {
		return -1 // The version of the SDK in this program.
	}
	return i
}

// report wraps a node in a hook, and reads the remaining fields from the result.
func (i instrumenter) report(node parse.Node, rest []string, field string) parse.Node {
	at := node.Position()
	place := i.site(at, "."+field)
	name := i.addFunction(func(value any) any {
		i.tracing.reach(place)
		return value
	})
	called := parse.NewIdentifier(name).SetPos(at).SetTree(i.tree)
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{
		{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{called, node}},
	}}
	if len(rest) == 0 {
		return pipe
	}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: at, Node: pipe, Field: rest}
}
