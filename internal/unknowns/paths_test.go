//go:build !race

package unknowns_test

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemaPaths returns all attributes that can be configured, at any depth.
func schemaPaths(block *tfprotov6.SchemaBlock) []string {
	var paths []string
	for _, attribute := range block.Attributes {
		paths = append(paths, attributePaths("", attribute)...)
	}
	for _, nested := range block.BlockTypes {
		for _, attribute := range nested.Block.Attributes {
			paths = append(paths, attributePaths(nested.TypeName+".", attribute)...)
		}
	}
	return paths
}

func attributePaths(prefix string, attribute *tfprotov6.SchemaAttribute) []string {
	if !attribute.Optional && !attribute.Required {
		return nil
	}
	path := prefix + attribute.Name
	if attribute.NestedType == nil {
		return append([]string{path}, typePaths(path, attribute.Type)...)
	}
	paths := []string{path}
	if attribute.NestedType.Nesting != tfprotov6.SchemaObjectNestingModeSingle {
		path += "[*]"
		paths = append(paths, path)
	}
	for _, below := range attribute.NestedType.Attributes {
		paths = append(paths, attributePaths(path+".", below)...)
	}
	return paths
}

func typePaths(path string, of tftypes.Type) []string {
	switch of := of.(type) {
	case tftypes.Set:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.List:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.Map:
		return append([]string{path + "[*]"}, typePaths(path+"[*]", of.ElementType)...)
	case tftypes.Object:
		var paths []string
		for name, below := range of.AttributeTypes {
			paths = append(append(paths, path+"."+name), typePaths(path+"."+name, below)...)
		}
		return paths
	}
	return nil
}
