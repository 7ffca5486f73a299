package helm

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// isMoody says whether a template function can answer differently for the same
// chart and values: it reads a clock, a random source, the network or the
// cluster, or walks a map in Go's random order.
func isMoody(function string) bool {
	switch function {
	case "now", "ago", "date", "dateInZone", "date_in_zone", "dateModify", "date_modify",
		"mustDateModify", "must_date_modify", "htmlDate", "htmlDateInZone", "toDate", "mustToDate",
		"shuffle", "uuidv4", "bcrypt", "htpasswd", "encryptAES", "buildCustomCert",
		"getHostByName", "lookup", "keys", "values":
		return true
	}
	return strings.HasPrefix(function, "rand") || (strings.HasPrefix(function, "gen") && len(function) > len("gen"))
}

// isLive says whether a name below the template's root depends on the cluster
// or on what was released before.
func isLive(field string) bool {
	switch field {
	case "Capabilities", "Revision", "IsInstall", "IsUpgrade":
		return true
	}
	return false
}

// scan looks through the templates of a chart and its subcharts for what can
// give another answer on another day or on another cluster, and names the first
// such thing. With tpl, templates can stand in values and files too.
func scan(c *chart.Chart, values map[string]any) string {
	found := &finding{}
	for _, file := range filesOf(c, func(c *chart.Chart) []*chart.File { return c.Templates }) {
		found.inspect("template "+file.Name, string(file.Data))
	}
	if !found.usesTpl {
		return found.reason
	}
	found.inspectValue("values", values)
	found.inspectValue("values of the chart", c.Values)
	for _, file := range filesOf(c, func(c *chart.Chart) []*chart.File { return c.Files }) {
		found.inspectQuoted(file.Name, string(file.Data))
	}
	return found.reason
}

func filesOf(c *chart.Chart, of func(*chart.Chart) []*chart.File) []*chart.File {
	files := slices.Clone(of(c))
	for _, dependency := range c.Dependencies() {
		files = append(files, filesOf(dependency, of)...)
	}
	return files
}

// finding collects what a scan meets.
type finding struct {
	reason  string
	usesTpl bool
}

// note keeps the first reason only.
func (f *finding) note(place, reason string) {
	if f.reason == "" {
		f.reason = place + " uses " + reason
	}
}

// inspectValue looks at the strings inside a value that tpl could run.
func (f *finding) inspectValue(place string, value any) {
	switch value := value.(type) {
	case string:
		f.inspectQuoted(place, value)
	case map[string]any:
		for _, item := range value {
			f.inspectValue(place, item)
		}
	case []any:
		for _, item := range value {
			f.inspectValue(place, item)
		}
	}
}

// inspectQuoted looks at text that is a template only if tpl runs it.
func (f *finding) inspectQuoted(place, text string) {
	if strings.Contains(text, "{{") {
		f.inspect(place+", which tpl can run,", text)
	}
}

func (f *finding) inspect(place, text string) {
	tree := parse.New(place)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "{{", "}}", trees); err != nil {
		// Rendering reports the error if it matters.
		f.note(place, fmt.Sprintf("syntax that cannot be read (%v)", err))
		return
	}
	for _, tree := range trees {
		f.walk(place, tree.Root)
	}
}

func (f *finding) walk(place string, node parse.Node) {
	switch node := node.(type) {
	case *parse.ListNode:
		if node == nil {
			return
		}
		for _, child := range node.Nodes {
			f.walk(place, child)
		}
	case *parse.ActionNode:
		f.walk(place, node.Pipe)
	case *parse.IfNode:
		f.walkBranch(place, &node.BranchNode)
	case *parse.RangeNode:
		f.walkBranch(place, &node.BranchNode)
	case *parse.WithNode:
		f.walkBranch(place, &node.BranchNode)
	case *parse.TemplateNode:
		f.walk(place, node.Pipe)
	case *parse.PipeNode:
		if node == nil {
			return
		}
		for _, command := range node.Cmds {
			for _, argument := range command.Args {
				f.walk(place, argument)
			}
		}
	case *parse.ChainNode:
		f.walk(place, node.Node)
		f.names(place, node.Field)
	case *parse.FieldNode:
		f.names(place, node.Ident)
	case *parse.VariableNode:
		f.names(place, node.Ident[1:])
	case *parse.StringNode:
		// index . "Capabilities" reads the same field.
		f.names(place, []string{node.Text})
	case *parse.IdentifierNode:
		f.usesTpl = f.usesTpl || node.Ident == "tpl"
		if isMoody(node.Ident) {
			f.note(place, node.Ident)
		}
	}
}

func (f *finding) walkBranch(place string, branch *parse.BranchNode) {
	f.walk(place, branch.Pipe)
	f.walk(place, branch.List)
	f.walk(place, branch.ElseList)
}

func (f *finding) names(place string, fields []string) {
	for _, field := range fields {
		if isLive(field) {
			f.note(place, "."+field)
		}
	}
}
