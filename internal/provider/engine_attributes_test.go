package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
)

// namesWithin are the attributes of a type and those below them, such as "helm.values".
func namesWithin(of attr.Type, prefix string) []string {
	switch of := of.(type) {
	case attr.TypeWithAttributeTypes:
		var paths []string
		for name, below := range of.AttributeTypes() {
			paths = append(paths, prefix+name)
			paths = append(paths, namesWithin(below, prefix+name+".")...)
		}
		return paths
	case types.ListType:
		return namesWithin(of.ElemType, prefix)
	case types.MapType:
		return namesWithin(of.ElemType, prefix)
	}
	return nil
}

// Each attribute has a row in the table of attributes with an engine, and each row has an
// attribute.
func TestEngineTableNamesAttributes(t *testing.T) {
	t.Parallel()
	var own provider.SchemaResponse
	newProvider("test", &Cleanup{}).Schema(t.Context(), provider.SchemaRequest{}, &own)
	schemas := map[string]attr.Type{"provider": own.Schema.Type()}
	for name, of := range map[string]resource.Resource{"fleet_cluster_target": newTargetResource(), "fleet_bundle": newBundleResource(), "fleet_gitrepo": newGitRepoResource()} {
		var made resource.SchemaResponse
		of.Schema(t.Context(), resource.SchemaRequest{}, &made)
		schemas[name] = made.Schema.Type()
	}
	for _, section := range fleet.SupportTable() {
		paths := namesWithin(schemas[section.Of], "")
		delete(schemas, section.Of)
		rows := map[string]bool{}
		for _, row := range section.Rows {
			for _, attribute := range row.Attributes {
				if rows[attribute] || !slices.Contains(paths, attribute) {
					t.Errorf("%s: %s is no attribute, or has two rows", section.Of, attribute)
				}
				rows[attribute] = true
			}
		}
		for _, path := range paths {
			isNamed := slices.ContainsFunc(paths, func(other string) bool {
				return rows[other] && (other == path || strings.HasPrefix(path, other+"."))
			})
			// The attributes below it have rows instead.
			isParent := slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(other, path+".") && rows[other] })
			if !isNamed && !isParent {
				t.Errorf("%s: %s has no row in fleet.SupportTable", section.Of, path)
			}
		}
	}
	for name := range schemas {
		t.Errorf("the table has no section %s", name)
	}
}
