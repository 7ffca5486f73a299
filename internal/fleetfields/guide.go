package main

import (
	"fmt"
	"slices"
	"strings"
)

const guideHead = `---
page_title: "Fleet, field by field"
subcategory: "Reference"
description: |-
  What each field of Fleet's types does here, and where it is written.
---

<!-- Made of internal/fleetfields/fields.yaml by make generate. Change it there. -->

# Fleet, field by field

This guide lists every field of the types of Fleet VERSION: ` + "`fleet.yaml`" + `, GitRepo, Bundle, HelmOp, Cluster, ClusterGroup, Schedule, Policy and GitRepoRestriction. A newer field says where it is known from. The guide [Fleet's model in Terraform](fleet-model.md) explains the model itself.

| word | meaning |
|---|---|
| effect | It does what it does in Fleet, or what the table says. |
| error | The plan fails and names file and line. Nothing changes on a cluster. |
| note | It has no effect. The plan shows a warning. |
| none | It has no counterpart, or it decides nothing. The table says why, and what to use instead. |

A key that Fleet does not have is an error, too. With ` + "`strict = false`" + ` of the ` + "`fleet_gitrepo`" + ` it is a note.

Editors with a language server for YAML complete the keys and report misspelt ones, with this first line of a ` + "`fleet.yaml`" + `:

` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/agentless-fleet/terraform-provider-fleet/main/schemas/fleet-yaml.json
` + "```" + `
`

// guide returns the template of the guide.
func (t table) guide() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(guideHead, "VERSION", t.Fleet))
	for _, s := range t.Sections {
		s.writeTo(&b)
	}
	return b.String()
}

func (s section) writeTo(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", s.Title, strings.TrimSpace(s.About))
	head := []string{"field", "here", "what it does", "in HCL"}
	if main := s.owner(); main != "" {
		head[3] = "in " + ownerName(main)
	}
	if s.hasCustom() {
		head = append(head, "in `targetCustomizations`")
	}
	writeLine(b, head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range s.Rows {
		writeLine(b, s.cells(r))
	}
}

func writeLine(b *strings.Builder, cells []string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func (s section) cells(r row) []string {
	cells := []string{code(r.Fields), word(r.Here), r.Says, s.where(r)}
	if r.Newer != "" {
		cells[2] += " New in " + r.Newer + "."
	}
	if r.Like != "" {
		cells = []string{code(r.Fields), effect, "As in a `fleet.yaml`.", s.where(r)}
	}
	if s.hasCustom() {
		cells = append(cells, custom(r))
	}
	return cells
}

func custom(r row) string {
	switch {
	case r.Custom == nil:
		return ""
	case r.Custom.Here == effect:
		return r.Custom.Says
	}
	return "(" + word(r.Custom.Here) + ") " + r.Custom.Says
}

func word(here string) string {
	if here == notApplicable {
		return "none"
	}
	return here
}

// owner returns the resource, data source or provider of the attributes of a section, unless a row
// names another.
func (s section) owner() string {
	if len(s.HCL) == 0 {
		return ""
	}
	of, _ := split(s.HCL[0])
	return of
}

// where lists attributes, and their owner if it is not the owner of the section. Attributes that
// customizations have as well are not repeated.
func (s section) where(r row) string {
	var order []string
	attributes := make(map[string][]string)
	for _, full := range s.written(r) {
		of, attribute := split(full)
		if s.hasCustom() && strings.HasPrefix(attribute, "target_customizations.") {
			continue
		}
		if !slices.Contains(order, of) {
			order = append(order, of)
		}
		attributes[of] = append(attributes[of], attribute)
	}
	parts := make([]string, len(order))
	for i, of := range order {
		parts[i] = code(attributes[of])
		if of != s.owner() {
			parts[i] += " of " + ownerName(of)
		}
	}
	return strings.Join(parts, "<br>")
}

// split separates "data.fleet_deployments.deployments" into the owner and its attribute.
func split(full string) (of, attribute string) {
	kind, rest, isData := strings.Cut(full, "data.")
	if isData && kind == "" {
		of, attribute, _ = strings.Cut(rest, ".")
		return "data." + of, attribute
	}
	of, attribute, _ = strings.Cut(full, ".")
	return of, attribute
}

func ownerName(of string) string {
	if of == "provider" {
		return "the provider"
	}
	return "`" + of + "`"
}

func code(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "`" + name + "`"
	}
	return strings.Join(quoted, "<br>")
}
