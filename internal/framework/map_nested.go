package framework

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// MapNested is a map of objects that creates its type once. For each null value of a configuration,
// terraform-plugin-framework walks from the schema to the attribute several times. Each time it
// creates the types of the objects on the way. With 200 objects of many attributes, that took 0.2 s
// in every command (fwschemadata.ReifyNullCollectionBlocks).
type MapNested struct {
	schema.MapNestedAttribute

	element typedObject
}

// NewMapNested returns a MapNested for the attribute.
func NewMapNested(of schema.MapNestedAttribute) MapNested {
	return MapNested{of, typedObject{of.NestedObject, of.NestedObject.Type()}}
}

// GetType returns the type of the map.
func (a MapNested) GetType() attr.Type { return types.MapType{ElemType: a.element.of} }

// ApplyTerraform5AttributePathStep returns the object of an element.
func (a MapNested) ApplyTerraform5AttributePathStep(step tftypes.AttributePathStep) (any, error) {
	if _, ok := step.(tftypes.ElementKeyString); !ok {
		return nil, fmt.Errorf("cannot apply step %T to a map", step)
	}
	return a.element, nil
}

type typedObject struct {
	schema.NestedAttributeObject

	of basetypes.ObjectTypable
}

// Type returns the type of the object.
func (o typedObject) Type() basetypes.ObjectTypable { return o.of }

// ApplyTerraform5AttributePathStep returns an attribute of the object.
func (o typedObject) ApplyTerraform5AttributePathStep(step tftypes.AttributePathStep) (any, error) {
	name, ok := step.(tftypes.AttributeName)
	if !ok {
		return nil, fmt.Errorf("cannot apply step %T to an object", step)
	}
	attribute, ok := o.Attributes[string(name)]
	if !ok {
		return nil, fmt.Errorf("the object has no attribute %q", name)
	}
	return attribute, nil
}
