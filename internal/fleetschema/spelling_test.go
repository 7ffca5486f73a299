package fleetschema

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Errors find the attribute of each option again.
func TestAttributeNames(t *testing.T) {
	t.Parallel()
	all := Definition()
	maps.Copy(all, Options())
	for name := range names(all) {
		if got := fleetyaml.AttributeName(fleetyaml.FieldName(name)); got != name {
			t.Errorf("the attribute of %s is %s, want %s", fleetyaml.FieldName(name), got, name)
		}
	}
}

// names returns the names of attributes and of those below them.
func names(attributes map[string]schema.Attribute) map[string]bool {
	found := map[string]bool{}
	for name, attribute := range attributes {
		found[name] = true
		switch attribute := attribute.(type) {
		case schema.SingleNestedAttribute:
			maps.Copy(found, names(attribute.Attributes))
		case schema.ListNestedAttribute:
			maps.Copy(found, names(attribute.NestedObject.Attributes))
		}
	}
	return found
}
