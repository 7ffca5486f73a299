package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

// Validators require attributes that are optional in the schema (framework.Required). Their descriptions
// say so, and by these the documentation lists them below "Required".
func TestRequiredAttributesAreListedAsRequired(t *testing.T) {
	t.Parallel()
	c := providertest.New(t)
	// These are required, too, with errors of their own.
	enforced := []string{"fleet_image_tags.policy.semver.range", "provider.windows.weekly.days"}
	var said, wanted, listed []string
	for name, block := range configurable(c) {
		ofSchema, ofText := requiredIn(name, block.Attributes)
		said = append(said, ofText...)
		wanted = slices.Concat(wanted, ofSchema, ofText)
		listed = append(listed, listedAsRequired(t, c, name)...)
		for _, at := range nestedPaths(name, block) {
			for _, found := range validate(t, c, name, emptyAt(block.ValueType(), strings.Split(at, ".")[1:])) {
				if found.Summary == "Missing attribute" {
					enforced = append(enforced, name+"."+strings.ReplaceAll(providertest.GeneralPath(found.Attribute), "[*]", ""))
				}
			}
		}
	}
	if diff := cmp.Diff(unique(enforced), unique(said)); diff != "" {
		t.Errorf("attributes whose description ends in \"Required.\" (-required by the provider +described so):\n%s", diff)
	}
	if diff := cmp.Diff(unique(wanted), unique(listed)); diff != "" {
		t.Errorf("attributes below \"Required\" in docs/, which make generate writes (-want +got):\n%s", diff)
	}
}

func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// requiredIn returns the attributes that the schema requires, and those whose description says that they
// are required, by their paths.
func requiredIn(path string, attributes []*tfprotov6.SchemaAttribute) (ofSchema, ofText []string) {
	for _, attribute := range attributes {
		at := path + "." + attribute.Name
		switch {
		case attribute.Required:
			ofSchema = append(ofSchema, at)
		case attribute.Optional && strings.HasSuffix(attribute.Description, " Required."):
			ofText = append(ofText, at)
		}
		if attribute.NestedType != nil && (attribute.Required || attribute.Optional) {
			nestedSchema, nestedText := requiredIn(at, attribute.NestedType.Attributes)
			ofSchema, ofText = append(ofSchema, nestedSchema...), append(ofText, nestedText...)
		}
	}
	return ofSchema, ofText
}

var (
	anchorOfObject = regexp.MustCompile(`^<a id="nestedatt--([a-z0-9_-]+)"></a>$`)
	groupOfDocs    = regexp.MustCompile(`^(?:### )?(Required|Optional|Read-Only):?$`)
	attributeLine  = regexp.MustCompile("^- `([a-z0-9_]+)` \\(")
)

// listedAsRequired returns the paths of the attributes below "Required" on the page of a schema.
func listedAsRequired(t *testing.T, c *providertest.Client, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", pageOf(c, name)))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	path, group := name, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if found := anchorOfObject.FindStringSubmatch(line); found != nil {
			path, group = name+"."+strings.ReplaceAll(found[1], "--", "."), ""
		}
		if found := groupOfDocs.FindStringSubmatch(line); found != nil {
			group = found[1]
		}
		if found := attributeLine.FindStringSubmatch(line); found != nil && group == "Required" {
			listed = append(listed, path+"."+found[1])
		}
	}
	return listed
}

func pageOf(c *providertest.Client, name string) string {
	ofData, isData := strings.CutSuffix(name, " (data)")
	page := strings.TrimPrefix(ofData, "fleet_") + ".md"
	_, isResource := c.Schemas.ResourceSchemas[name]
	switch {
	case name == "provider":
		return "index.md"
	case isResource && !isData:
		return filepath.Join("resources", page)
	}
	return filepath.Join("data-sources", page)
}
