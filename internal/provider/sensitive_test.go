package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

// Terraform compares every value of a resource with the path of every sensitive value, and stores all
// these paths. So the elements of a list or a map are sensitive as a whole.
func TestElementsHaveNoSensitiveAttributes(t *testing.T) {
	t.Parallel()
	for name, schema := range providertest.Schemas().ResourceSchemas {
		for _, attribute := range schema.Block.Attributes {
			for _, path := range sensitiveElements(name+"."+attribute.Name, attribute, false) {
				t.Errorf("%s is sensitive for each element", path)
			}
		}
	}
}

// sensitiveElements returns the paths of sensitive attributes of elements.
func sensitiveElements(path string, attribute *tfprotov6.SchemaAttribute, inElement bool) (paths []string) {
	if attribute.Sensitive && inElement {
		paths = append(paths, path)
	}
	if attribute.NestedType == nil {
		return paths
	}
	inElement = inElement || attribute.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle
	for _, nested := range attribute.NestedType.Attributes {
		paths = append(paths, sensitiveElements(path+"."+nested.Name, nested, inElement)...)
	}
	return paths
}
