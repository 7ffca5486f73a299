package sandboxed

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"text/template/parse"
)

// Kinds of branches.
const (
	ifBranch    = "if"
	withBranch  = "with"
	rangeBranch = "range"
)

// source describes the code of a branch or a template, and what it can do. It is made before the
// code is changed for the observer.
type source struct {
	kind string
	// quiet is true if its own texts are not part of an object's identity, and if it changes no
	// map.
	quiet bool
	// silent is true if it writes nothing.
	silent bool
	// includes are the templates that it runs.
	includes []string
	// assigned are the variables that it assigns and does not declare.
	assigned []string
	// confusing is true if it declares and assigns a variable of the same name.
	confusing bool

	// template finds the code of a template.
	template func(name string) *source
}

// identity matches texts that can determine which objects exist.
var identity = regexp.MustCompile(`(?m)^\s*---|\b(apiVersion|kind|metadata|name|namespace|generateName|items)["']?\s*:|helm\.sh/hook`)

// isMutator reports whether a function changes a map that other code can read.
func isMutator(function string) bool {
	switch function {
	case "set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite":
		return true
	}
	return false
}

// isHarmless reports whether the code and the templates that it runs write no part of an identity
// and change no map.
func (s *source) isHarmless() bool {
	visited := map[*source]bool{}
	var visit func(*source) bool
	visit = func(code *source) bool {
		if code == nil || !code.quiet {
			return false
		}
		if visited[code] {
			return true
		}
		visited[code] = true
		return !slices.ContainsFunc(code.includes, func(name string) bool { return !visit(s.template(name)) })
	}
	return visit(s)
}

// sourceReader reads one source.
type sourceReader struct {
	*source

	declared, changed map[string]bool
}

func readSource(kind string, template func(string) *source, declared []*parse.VariableNode, lists ...*parse.ListNode) *source {
	s := &source{kind: kind, quiet: true, silent: true, template: template}
	r := sourceReader{source: s, declared: map[string]bool{}, changed: map[string]bool{}}
	for _, variable := range declared {
		r.declared[variable.Ident[0]] = true
	}
	for _, list := range lists {
		r.list(list)
	}
	for _, name := range slices.Sorted(maps.Keys(r.changed)) {
		if r.declared[name] {
			s.confusing = true
			continue
		}
		s.assigned = append(s.assigned, name)
	}
	return s
}

func (r sourceReader) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			r.quiet = r.quiet && !identity.Match(node.Text)
			r.silent = r.silent && len(bytes.TrimSpace(node.Text)) == 0
		case *parse.ActionNode:
			r.silent = r.silent && (len(node.Pipe.Decl) > 0 || len(node.Pipe.Cmds) == 1 && functionOf(node.Pipe.Cmds[0]) == "fail")
			r.pipe(node.Pipe)
		case *parse.IfNode:
			r.branch(&node.BranchNode)
		case *parse.RangeNode:
			r.branch(&node.BranchNode)
		case *parse.WithNode:
			r.branch(&node.BranchNode)
		case *parse.TemplateNode:
			r.silent = false
			r.pipe(node.Pipe)
			r.includes = append(r.includes, node.Name)
		case *parse.ListNode:
			r.list(node)
		case *parse.BreakNode, *parse.ContinueNode:
			r.quiet = false
		}
	}
}

func (r sourceReader) branch(branch *parse.BranchNode) {
	r.pipe(branch.Pipe)
	r.list(branch.List)
	r.list(branch.ElseList)
}

func (r sourceReader) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	for _, variable := range pipe.Decl {
		if pipe.IsAssign {
			r.changed[variable.Ident[0]] = true
		} else {
			r.declared[variable.Ident[0]] = true
		}
	}
	for _, command := range pipe.Cmds {
		for i, argument := range command.Args {
			r.argument(command.Args[i+1:], argument)
		}
	}
}

// argument reads one part of a command. rest are the parts after it.
func (r sourceReader) argument(rest []parse.Node, argument parse.Node) {
	switch argument := argument.(type) {
	case *parse.IdentifierNode:
		if argument.Ident == "include" {
			if len(rest) > 0 {
				if name, ok := rest[0].(*parse.StringNode); ok {
					r.includes = append(r.includes, name.Text)
					return
				}
			}
			r.quiet = false
		}
		r.quiet = r.quiet && !isMutator(argument.Ident) && argument.Ident != "tpl"
	case *parse.PipeNode:
		r.pipe(argument)
	case *parse.ChainNode:
		r.argument(nil, argument.Node)
	case *parse.StringNode:
		r.quiet = r.quiet && !identity.MatchString(argument.Text)
	}
}

// observing changes templates so that they report to an observer what they do.
type observing struct{ observer *observer }

func (h observing) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, len(list.Nodes))
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			h.pipe(node.Pipe)
		case *parse.TemplateNode:
			h.pipe(node.Pipe)
		case *parse.IfNode:
			nodes = append(nodes, node, h.branch(&node.BranchNode, ifBranch))
			continue
		case *parse.WithNode:
			nodes = append(nodes, node, h.branch(&node.BranchNode, withBranch))
			continue
		case *parse.RangeNode:
			nodes = append(nodes, node, h.branch(&node.BranchNode, rangeBranch))
			continue
		case *parse.BreakNode, *parse.ContinueNode:
			nodes = append(nodes, h.action(node.Position(), h.call(node.Position(), hookJump)))
		case *parse.ListNode:
			h.list(node)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

// branch returns the node to insert after a branch.
func (h observing) branch(branch *parse.BranchNode, kind string) parse.Node {
	code := readSource(kind, h.observer.template, branch.Pipe.Decl, branch.List, branch.ElseList)
	id := h.number(branch.Position(), len(h.observer.sources))
	h.observer.sources = append(h.observer.sources, code)
	h.pipe(branch.Pipe)
	whole := &parse.PipeNode{NodeType: parse.NodePipe, Pos: branch.Pipe.Pos, Cmds: branch.Pipe.Cmds}
	branch.Pipe.Cmds = []*parse.CommandNode{h.commandOf(branch.Pos, hookBranch, id, whole)}
	h.list(branch.List)
	h.list(branch.ElseList)
	arguments := []parse.Node{id}
	if !code.confusing {
		for _, name := range code.assigned {
			arguments = append(arguments, &parse.VariableNode{NodeType: parse.NodeVariable, Pos: branch.Pos, Ident: []string{name}})
		}
	}
	return h.action(branch.Pos, h.call(branch.Pos, hookEnd, arguments...))
}

func (h observing) action(at parse.Pos, pipe *parse.PipeNode) parse.Node {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: at, Pipe: pipe}
}

func (observing) number(at parse.Pos, value int) parse.Node {
	return &parse.NumberNode{NodeType: parse.NodeNumber, Pos: at, IsInt: true, Int64: int64(value), Text: "0"}
}

func (observing) string(at parse.Pos, text string) parse.Node {
	return &parse.StringNode{NodeType: parse.NodeString, Pos: at, Quoted: `""`, Text: text}
}

func (observing) commandOf(at parse.Pos, function string, arguments ...parse.Node) *parse.CommandNode {
	called := parse.NewIdentifier(function).SetPos(at)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: append([]parse.Node{called}, arguments...)}
}

func (h observing) call(at parse.Pos, function string, arguments ...parse.Node) *parse.PipeNode {
	return h.pipeOf(h.commandOf(at, function, arguments...))
}

func (observing) pipeOf(command *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: command.Pos, Cmds: []*parse.CommandNode{command}}
}

// pipe changes a | f b to the call of f with b and a, and observes each call.
func (h observing) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	var last *parse.CommandNode
	for _, command := range pipe.Cmds {
		if last == nil {
			last = h.command(command)
		} else {
			last = h.command(command, h.pipeOf(last))
		}
	}
	pipe.Cmds = []*parse.CommandNode{last}
}

// isUnobserved reports whether a function only passes its arguments on, or is observed in another
// way.
func isUnobserved(function string) bool {
	switch function {
	case "dict", "list", "tuple", "set", "include", "tpl", "template",
		hookCall, hookArgument, hookResult, hookField, hookBase, hookChain, hookBranch, hookEnd, hookLive, hookJump:
		return true
	}
	return false
}

// command observes a command. final is the result of the command before it in a pipeline.
func (h observing) command(command *parse.CommandNode, final ...parse.Node) *parse.CommandNode {
	function, first := functionOf(command), command.Args[0]
	switch {
	case function != "" && isUnobserved(function):
		for i, argument := range command.Args[1:] {
			command.Args[i+1] = h.argument(argument)
		}
		command.Args = append(command.Args, final...)
		return command
	case function != "":
		return h.observed(command, function, final)
	case len(command.Args) == 1 && len(final) == 0:
		command.Args[0] = h.argument(first)
		return command
	}
	return h.method(command, final)
}

// observed returns the call of a function whose arguments and result are observed.
func (h observing) observed(command *parse.CommandNode, function string, final []parse.Node) *parse.CommandNode {
	at := command.Args[0].Position()
	for i, argument := range command.Args {
		if i > 0 {
			command.Args[i] = h.call(at, hookArgument, h.argument(argument))
		}
	}
	for _, last := range final {
		command.Args = append(command.Args, h.call(at, hookArgument, last))
	}
	return h.commandOf(at, hookResult, h.call(at, hookCall, h.string(at, function)), h.pipeOf(command))
}

// method observes the call of a method with arguments. The value that has the method counts as an
// argument.
func (h observing) method(command *parse.CommandNode, final []parse.Node) *parse.CommandNode {
	at := command.Args[0].Position()
	var base parse.Node
	var name string
	switch called := command.Args[0].(type) {
	case *parse.FieldNode:
		last := len(called.Ident) - 1
		name = called.Ident[last]
		base = &parse.DotNode{NodeType: parse.NodeDot, Pos: at}
		if last > 0 {
			base = &parse.FieldNode{NodeType: parse.NodeField, Pos: at, Ident: called.Ident[:last]}
		}
	case *parse.VariableNode:
		last := len(called.Ident) - 1
		if last < 1 {
			command.Args = append(command.Args, final...)
			return command // Arguments for a variable are an error when the template runs.
		}
		name = called.Ident[last]
		base = &parse.VariableNode{NodeType: parse.NodeVariable, Pos: at, Ident: called.Ident[:last]}
	case *parse.ChainNode:
		last := len(called.Field) - 1
		name = called.Field[last]
		base = called.Node
		if last > 0 {
			base = &parse.ChainNode{NodeType: parse.NodeChain, Pos: at, Node: called.Node, Field: called.Field[:last]}
		}
	default:
		command.Args = append(command.Args, final...)
		return command
	}
	command.Args[0] = &parse.ChainNode{NodeType: parse.NodeChain, Pos: at, Node: h.call(at, hookArgument, h.argument(base)), Field: []string{name}}
	return h.observed(command, "."+name, final)
}

func (h observing) argument(node parse.Node) parse.Node {
	at := node.Position()
	switch node := node.(type) {
	case *parse.PipeNode:
		h.pipe(node)
	case *parse.IdentifierNode: // A function without arguments.
		command := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{node}}
		return h.pipeOf(h.command(command))
	case *parse.FieldNode:
		return h.call(at, hookField, append([]parse.Node{node, &parse.DotNode{NodeType: parse.NodeDot, Pos: at}}, h.names(at, node.Ident)...)...)
	case *parse.VariableNode:
		if len(node.Ident) > 1 {
			base := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: at, Ident: node.Ident[:1]}
			return h.call(at, hookField, append([]parse.Node{node, base}, h.names(at, node.Ident[1:])...)...)
		}
	case *parse.ChainNode:
		node.Node = h.call(at, hookBase, h.argument(node.Node))
		return h.call(at, hookChain, append([]parse.Node{node}, h.names(at, node.Field)...)...)
	case *parse.StringNode:
		if isLive(node.Text) {
			return h.call(at, hookLive, node)
		}
	}
	return node
}

func (h observing) names(at parse.Pos, names []string) []parse.Node {
	made := make([]parse.Node, len(names))
	for i, name := range names {
		made[i] = h.string(at, name)
	}
	return made
}
