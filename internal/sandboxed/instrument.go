package sandboxed

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
	var fresh []*template.Template
	for _, one := range in.Templates() {
		if one.Tree == nil || t.walked[one.Tree] {
			continue
		}
		t.walked[one.Tree] = true
		if t.observer != nil {
			fresh = append(fresh, one)
			continue
		}
		instrumenter{tracing: t, in: in, tree: one.Tree}.list(one.Root)
	}
	for _, one := range fresh {
		t.observer.addTemplate(one.Name(), one.Root)
	}
	for _, one := range fresh {
		observing{observer: t.observer}.list(one.Root)
	}
}

// instrumenter changes one template. A list is "free" if the order of its elements has no effect on
// the output.
type instrumenter struct {
	tracing *tracer
	in      *template.Template
	tree    *parse.Tree
}

func (h instrumenter) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			h.pipe(node.Pipe, false)
		case *parse.TemplateNode:
			h.pipe(node.Pipe, false)
		case *parse.IfNode:
			h.branch(&node.BranchNode, true)
		case *parse.RangeNode:
			h.branch(&node.BranchNode, false)
		case *parse.WithNode:
			h.branch(&node.BranchNode, false)
		case *parse.ListNode:
			h.list(node)
		}
	}
}

func (h instrumenter) branch(branch *parse.BranchNode, free bool) {
	h.pipe(branch.Pipe, free && len(branch.Pipe.Decl) == 0)
	h.list(branch.List)
	h.list(branch.ElseList)
}

func (h instrumenter) pipe(pipe *parse.PipeNode, free bool) {
	if pipe == nil {
		return
	}
	for i, command := range pipe.Cmds {
		h.command(command, isFree(pipe.Cmds[i+1:], free))
	}
}

// isFree reports whether the order of a list that is passed to commands has no effect on their
// output.
func isFree(commands []*parse.CommandNode, free bool) bool {
	for _, command := range commands {
		function := functionOf(command)
		switch {
		case orderIn(function) == orderIgnored, function == "has", function == "mustHas":
			return true
		case orderIn(function) == orderShown:
			return false
		}
	}
	return free
}

func functionOf(command *parse.CommandNode) string {
	if called, ok := command.Args[0].(*parse.IdentifierNode); ok {
		return called.Ident
	}
	return ""
}

func (h instrumenter) command(command *parse.CommandNode, free bool) {
	inner := free && len(command.Args) == 1 // A command that consists only of a pipe in parentheses.
	if function := functionOf(command); function != "" {
		inner = orderIn(function) == orderIgnored || orderIn(function) == orderKept && free
	}
	printsFine := functionOf(command) == "printf" && len(command.Args) > 1 && printsNoAddress(command.Args[1])
	for i, argument := range command.Args {
		if called, ok := argument.(*parse.IdentifierNode); ok {
			alone := inner
			if i == 0 {
				alone = free
			}
			fine := isUnordered(called.Ident) && alone || i == 0 && printsFine
			if !fine {
				h.call(called)
			}
			continue
		}
		command.Args[i] = h.argument(argument, inner)
	}
}

func printsNoAddress(format parse.Node) bool {
	text, ok := format.(*parse.StringNode)
	return ok && !printsAddress(text.Text)
}

// call hooks a call of a function.
func (h instrumenter) call(called *parse.IdentifierNode) {
	function := called.Ident
	if !isNonDeterministic(function) {
		return
	}
	place := h.site(called.Position(), function)
	called.Ident = h.addFunction(reporting(h.tracing.functions[function], func(arguments, results []reflect.Value) {
		if couldDiffer(function, arguments, results) {
			h.tracing.reach(place)
		}
	}))
}

// addFunction gives templates a function and returns its name.
func (h instrumenter) addFunction(function any) string {
	h.tracing.injected++
	name := fmt.Sprintf("hook%d", h.tracing.injected)
	h.in.Funcs(template.FuncMap{name: function})
	return name
}

func (h instrumenter) site(at parse.Pos, what string) templatePosition {
	text, ok := h.tracing.texts[h.tree.ParseName]
	if !ok || int(at) > len(text) {
		return templatePosition{what: what}
	}
	_, name, _ := strings.Cut(h.tree.ParseName, "/") // The first part is the name of the chart, not a folder.
	return templatePosition{file: path.Clean(name), line: 1 + strings.Count(text[:at], "\n"), what: what}
}

func (h instrumenter) argument(node parse.Node, free bool) parse.Node {
	switch node := node.(type) {
	case *parse.PipeNode:
		h.pipe(node, free)
	case *parse.ChainNode:
		node.Node = h.argument(node.Node, false)
		if i := liveField(node.Field); i >= 0 {
			prefix := parse.Node(&parse.ChainNode{NodeType: node.NodeType, Pos: node.Pos, Node: node.Node, Field: node.Field[:i+1]})
			return h.report(prefix, node.Field[i+1:], node.Field[i])
		}
	case *parse.FieldNode:
		if i := liveField(node.Ident); i >= 0 {
			prefix := &parse.FieldNode{NodeType: node.NodeType, Pos: node.Pos, Ident: node.Ident[:i+1]}
			return h.report(prefix, node.Ident[i+1:], node.Ident[i])
		}
	case *parse.VariableNode:
		if i := liveField(node.Ident[1:]); i >= 0 {
			i++
			prefix := &parse.VariableNode{NodeType: node.NodeType, Pos: node.Pos, Ident: node.Ident[:i+1]}
			return h.report(prefix, node.Ident[i+1:], node.Ident[i])
		}
	case *parse.StringNode:
		// index .Release "Revision" reads the same field as .Release.Revision.
		if isLive(node.Text) {
			return h.report(node, nil, node.Text)
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
func (h instrumenter) report(node parse.Node, rest []string, field string) parse.Node {
	at := node.Position()
	place := h.site(at, "."+field)
	name := h.addFunction(func(value any) any {
		h.tracing.reach(place)
		return value
	})
	called := parse.NewIdentifier(name).SetPos(at).SetTree(h.tree)
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{
		{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{called, node}},
	}}
	if len(rest) == 0 {
		return pipe
	}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: at, Node: pipe, Field: rest}
}
