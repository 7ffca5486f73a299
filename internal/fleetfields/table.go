package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// What a field does here.
const (
	effect        = "effect"
	failure       = "error"
	note          = "note"
	notApplicable = "not applicable"
)

// table is fields.yaml. The comments in fields.yaml explain its keys.
type table struct {
	// Fleet is the version of Fleet's types.
	Fleet    string    `json:"fleet"`
	Sections []section `json:"sections"`
}

type section struct {
	Type  string   `json:"type"`
	Title string   `json:"title"`
	About string   `json:"about"`
	HCL   []string `json:"hcl"`
	// Includes are the sections of types that this one embeds.
	Includes []string `json:"includes"`
	Rows     []row    `json:"rows"`
}

type row struct {
	Fields []string `json:"fields"`
	behaviour
	Write   []string   `json:"write"`
	Custom  *behaviour `json:"custom"`
	Whole   bool       `json:"whole"`
	Like    string     `json:"like"`
	Beside  string     `json:"beside"`
	Newer   string     `json:"newer"`
	Example any        `json:"example"`
}

type behaviour struct {
	Here  string   `json:"here"`
	Says  string   `json:"says"`
	Tests []string `json:"tests"`
}

func readTable(file string) (table, error) {
	data, err := os.ReadFile(file) //nolint:gosec // The table of this folder.
	if err != nil {
		return table{}, err
	}
	var t table
	if err := yaml.UnmarshalStrict(data, &t); err != nil {
		return table{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return t, nil
}

// written returns the attributes that the fields of the row are written in.
func (s section) written(r row) []string {
	if r.Write != nil || r.Here != effect {
		return r.Write
	}
	var attributes []string
	for _, prefix := range s.HCL {
		for _, field := range r.Fields {
			attributes = append(attributes, prefix+"."+attributeName(field))
		}
	}
	return attributes
}

var (
	// humps are the places in a name where snake case has an underscore.
	humps = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
	// specs are the prefixes that attributes of Terraform do not have.
	specs = regexp.MustCompile(`^(spec|status)\.`)
)

// attributeName turns "spec.helmRepoURLRegex" into "helm_repo_url_regex".
func attributeName(field string) string {
	field = specs.ReplaceAllString(field, "")
	return strings.ToLower(humps.ReplaceAllString(field, "${1}${3}_${2}${4}"))
}

// hasCustom reports whether the section describes its fields in a customization.
func (s section) hasCustom() bool {
	return slices.ContainsFunc(s.Rows, func(r row) bool { return r.Custom != nil })
}
