package protocol

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// pointer reports one error about each of its paths.
type pointer struct {
	tfprotov6.ProviderServer

	paths []*tftypes.AttributePath
}

func (pointer) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	object := func(attributes ...*tfprotov6.SchemaAttribute) *tfprotov6.SchemaObject {
		return &tfprotov6.SchemaObject{Nesting: tfprotov6.SchemaObjectNestingModeMap, Attributes: attributes}
	}
	app := object(&tfprotov6.SchemaAttribute{Name: "id"}, &tfprotov6.SchemaAttribute{Name: "key", Sensitive: true})
	entry := object(&tfprotov6.SchemaAttribute{Name: "user"}, &tfprotov6.SchemaAttribute{Name: "app", NestedType: app})
	return &tfprotov6.GetProviderSchemaResponse{
		Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
			{Name: "owner"}, {Name: "git", NestedType: entry},
		}}},
		ResourceSchemas: map[string]*tfprotov6.Schema{"fleet_target": {Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
			{Name: "bundles", Sensitive: true}, {Name: "values_wo", Sensitive: true, WriteOnly: true},
		}}}},
	}, nil
}

func (p pointer) errors() []*tfprotov6.Diagnostic {
	diagnostics := []*tfprotov6.Diagnostic{nil, {Summary: "about no attribute"}}
	for _, path := range p.paths {
		diagnostics = append(diagnostics, &tfprotov6.Diagnostic{Attribute: path})
	}
	return diagnostics
}

func (p pointer) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: p.errors()}, nil
}

func (p pointer) PlanResourceChange(context.Context, *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return &tfprotov6.PlanResourceChangeResponse{Diagnostics: p.errors()}, nil
}

func TestSourceOfCredentialsIsNotPrinted(t *testing.T) {
	t.Parallel()
	root := tftypes.NewAttributePath
	tests := map[string]struct {
		path       *tftypes.AttributePath
		ofResource bool
		want       string // the text about the attribute, "" if the diagnostic is still about it
	}{
		"an attribute":                          {path: root().WithAttributeName("owner")},
		"an attribute beside a credential":      {path: root().WithAttributeName("git").WithElementKeyString("a").WithAttributeName("user"), want: `git["a"].user`},
		"a credential":                          {path: root().WithAttributeName("git").WithElementKeyString("a").WithAttributeName("app").WithAttributeName("key"), want: `git["a"].app.key`},
		"an element of a list":                  {path: root().WithAttributeName("git").WithElementKeyString("a").WithAttributeName("list").WithElementKeyInt(1), want: `git["a"].list[1]`},
		"an entry with a credential deep in it": {path: root().WithAttributeName("git").WithElementKeyString("a"), want: `git["a"]`},
		"a map with credentials":                {path: root().WithAttributeName("git"), want: "git"},
		"an attribute that is none":             {path: root().WithAttributeName("gti")},
		"sensitive input of a resource":         {path: root().WithAttributeName("bundles"), ofResource: true},
		"write-only input of a resource":        {path: root().WithAttributeName("values_wo").WithElementKeyString("web"), ofResource: true, want: `values_wo["web"]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed := Masked(pointer{paths: []*tftypes.AttributePath{test.path}}, &mask.Masker{})
			var got []*tfprotov6.Diagnostic
			if test.ofResource {
				response, err := sealed.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{TypeName: "fleet_target"})
				if err != nil {
					t.Fatal(err)
				}
				got = response.Diagnostics
			} else {
				response, err := sealed.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{})
				if err != nil {
					t.Fatal(err)
				}
				got = response.Diagnostics
			}
			want := []*tfprotov6.Diagnostic{nil, {Summary: "about no attribute"}, {Attribute: test.path}}
			if test.want != "" {
				want[2] = &tfprotov6.Diagnostic{Detail: "This is about " + test.want + "."}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}
