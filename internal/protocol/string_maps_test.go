package protocol

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const kind = "fleet_cluster_target"

// mapsType is the type of a resource with one map that goes around the server, and one that does not.
func mapsType() tftypes.Object {
	texts := tftypes.Map{ElementType: tftypes.String}
	return tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "records": texts, "labels": texts}}
}

func textMap(elements map[string]any) tftypes.Value {
	if elements == nil {
		return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, nil)
	}
	values := map[string]tftypes.Value{}
	for key, element := range elements {
		values[key] = tftypes.NewValue(tftypes.String, element)
	}
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, values)
}

func unknownMap() tftypes.Value {
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, tftypes.UnknownValue)
}

// withRecords returns a resource with this map as its records.
func withRecords(records tftypes.Value) tftypes.Value {
	return tftypes.NewValue(mapsType(), map[string]tftypes.Value{
		"name": tftypes.NewValue(tftypes.String, "web"), "records": records, "labels": textMap(map[string]any{"a": "1"}),
	})
}

func packed(t *testing.T, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	dynamic, err := tfprotov6.NewDynamicValue(mapsType(), value)
	if err != nil {
		t.Fatal(err)
	}
	return &dynamic
}

func unpacked(t *testing.T, dynamic *tfprotov6.DynamicValue) tftypes.Value {
	t.Helper()
	value, err := dynamic.Unmarshal(mapsType())
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// echo is a server that returns what it gets. It fails if it gets a map that goes around it.
type echo struct {
	tfprotov6.ProviderServer

	t *testing.T
	// act is called with the maps of the call.
	act func(*StringMaps)
	// marks is true if the server marks computed attributes as unknown, as in a plan with a change.
	// creates is true if it returns a resource although it got null.
	marks, creates bool
}

func (e echo) take(ctx context.Context, values ...*tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	var last *tfprotov6.DynamicValue
	for _, dynamic := range values {
		if is := unpacked(e.t, dynamic); !is.IsNull() && !is.Equal(withRecords(textMap(nil))) {
			e.t.Errorf("the server got %s", is)
		}
		last = dynamic
	}
	if e.act != nil {
		e.act(StringMapsOf(ctx))
	}
	if e.creates {
		last = packed(e.t, withRecords(textMap(nil)))
	}
	if e.marks {
		last = packed(e.t, withRecords(unknownMap()))
	}
	return last
}

func (e echo) ReadResource(ctx context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: e.take(ctx, request.CurrentState)}, nil
}

func (e echo) PlanResourceChange(ctx context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: e.take(ctx, request.PriorState, request.ProposedNewState)}, nil
}

func (e echo) ApplyResourceChange(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return &tfprotov6.ApplyResourceChangeResponse{NewState: e.take(ctx, request.PlannedState, request.PriorState)}, nil
}

func (e echo) UpgradeResourceState(ctx context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	value, err := request.RawState.Unmarshal(mapsType())
	if err != nil {
		return nil, err
	}
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: e.take(ctx, packed(e.t, value))}, nil
}

func (e echo) ImportResourceState(ctx context.Context, _ *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	state := e.take(ctx, packed(e.t, withRecords(textMap(nil))))
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{{TypeName: kind, State: state}}}, nil
}

// The calls of a server for a resource, each with a state and a plan. They return the state or the plan.
var calls = map[string]func(ctx context.Context, s tfprotov6.ProviderServer, state, plan *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error){ //nolint:gochecknoglobals // a table
	"read": func(ctx context.Context, s tfprotov6.ProviderServer, state, _ *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
		response, err := s.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: kind, CurrentState: state})
		if err != nil {
			return nil, err
		}
		return response.NewState, nil
	},
	"plan": func(ctx context.Context, s tfprotov6.ProviderServer, state, _ *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
		response, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: kind, PriorState: state, ProposedNewState: state})
		if err != nil {
			return nil, err
		}
		return response.PlannedState, nil
	},
	"apply": func(ctx context.Context, s tfprotov6.ProviderServer, state, plan *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
		response, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: kind, PriorState: state, PlannedState: plan})
		if err != nil {
			return nil, err
		}
		return response.NewState, nil
	},
}

func TestStringMaps(t *testing.T) {
	t.Parallel()
	before, planned := textMap(map[string]any{"a/web": "old", "b/web": "same"}), textMap(map[string]any{"a/web": tftypes.UnknownValue, "b/web": "same"})
	after := map[string]string{"a/web": "new", "b/web": ""}
	tests := map[string]struct {
		calls []string
		state tftypes.Value
		set   *StringMap
		// marks and creates are as in echo.
		marks, creates bool
		want           tftypes.Value
	}{
		"nothing is set":           {calls: []string{"read", "plan", "apply"}, state: before, want: before},
		"an element is unknown":    {calls: []string{"plan"}, state: before, set: &StringMap{Elements: after}, want: textMap(map[string]any{"a/web": "new", "b/web": tftypes.UnknownValue})},
		"the map is set":           {calls: []string{"read", "apply"}, state: before, set: &StringMap{Elements: map[string]string{"c/web": "new"}}, want: textMap(map[string]any{"c/web": "new"})},
		"an empty map":             {calls: []string{"read", "plan", "apply"}, state: before, set: &StringMap{Elements: map[string]string{}}, want: textMap(map[string]any{})},
		"the map is null":          {calls: []string{"read", "plan", "apply"}, state: before, set: &StringMap{}, want: textMap(nil)},
		"the map is unknown":       {calls: []string{"plan"}, state: before, set: &StringMap{Unknown: true}, want: unknownMap()},
		"a change, nothing is set": {calls: []string{"plan"}, state: before, marks: true, want: unknownMap()},
		"a create":                 {calls: []string{"plan", "apply"}, state: textMap(nil), creates: true, set: &StringMap{Elements: map[string]string{"a/web": "new"}}, want: textMap(map[string]any{"a/web": "new"})},
		"the state had no map":     {calls: []string{"read", "plan", "apply"}, state: textMap(nil), want: textMap(nil)},
	}
	for name, test := range tests {
		for _, called := range test.calls {
			t.Run(name+" in "+called, func(t *testing.T) {
				t.Parallel()
				state := withRecords(test.state)
				if test.creates {
					state = tftypes.NewValue(mapsType(), nil)
				}
				inner := echo{t: t, marks: test.marks, creates: test.creates, act: func(maps *StringMaps) {
					if test.creates {
						expectNone(t, maps.Prior)
					} else {
						expectMap(t, "the state", maps.Prior, test.state)
					}
					if called == "apply" {
						expectMap(t, "the plan", maps.Planned, planned)
					}
					if test.set != nil {
						maps.Set(map[string]StringMap{"records": *test.set})
					}
				}}
				got, err := calls[called](t.Context(), WithStringMaps(inner, map[string][]string{kind: {"records"}}), packed(t, state), packed(t, withRecords(planned)))
				if err != nil {
					t.Fatal(err)
				}
				if is := unpacked(t, got); !is.Equal(withRecords(test.want)) {
					t.Errorf("%s, want %s", is, withRecords(test.want))
				}
			})
		}
	}
}

func expectNone(t *testing.T, read func() (map[string]StringMap, error)) {
	t.Helper()
	if found, err := read(); err != nil || len(found) > 0 {
		t.Errorf("there is no state, and it has %v, %v", found, err)
	}
}

// expectMap compares a map that the server reads with that of a state.
func expectMap(t *testing.T, of string, read func() (map[string]StringMap, error), want tftypes.Value) {
	t.Helper()
	found, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var elements map[string]tftypes.Value
	if err := want.As(&elements); err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if !want.IsNull() {
		texts = map[string]string{}
	}
	for key, element := range elements {
		if texts[key] = ""; element.IsKnown() {
			var text string
			if err := element.As(&text); err != nil {
				t.Fatal(err)
			}
			texts[key] = text
		}
	}
	if diff := cmp.Diff(map[string]StringMap{"records": {Elements: texts}}, found); diff != "" {
		t.Errorf("%s (-want +got):\n%s", of, diff)
	}
}

func TestStringMapsOfStoredState(t *testing.T) {
	t.Parallel()
	stored := func(records string) *tfprotov6.UpgradeResourceStateRequest {
		return &tfprotov6.UpgradeResourceStateRequest{
			TypeName: kind, RawState: &tfprotov6.RawState{JSON: []byte(`{"name":"web","records":` + records + `,"labels":{"a":"1"}}`)},
		}
	}
	tests := map[string]struct {
		records string
		want    tftypes.Value
	}{
		"some":          {records: `{"a/web":"{\"digest\":1}"}`, want: textMap(map[string]any{"a/web": `{"digest":1}`})},
		"an empty text": {records: `{"a":"","b":null}`, want: textMap(map[string]any{"a": "", "b": nil})},
		"empty":         {records: `{}`, want: textMap(map[string]any{})},
		"null":          {records: `null`, want: textMap(nil)},
	}
	server := WithStringMaps(echo{t: t}, map[string][]string{kind: {"records"}})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := server.UpgradeResourceState(t.Context(), stored(test.records))
			if err != nil {
				t.Fatal(err)
			}
			if is := unpacked(t, response.UpgradedState); !is.Equal(withRecords(test.want)) {
				t.Errorf("%s, want %s", is, withRecords(test.want))
			}
		})
	}
	// The server reports what is no map.
	if response, err := server.UpgradeResourceState(t.Context(), stored(`["a"]`)); err == nil {
		t.Errorf("a list was read as %v", response)
	}
}

func TestStringMapsOfImport(t *testing.T) {
	t.Parallel()
	want := textMap(map[string]any{"a/web": "imported"})
	server := WithStringMaps(echo{t: t, act: func(maps *StringMaps) {
		maps.Set(map[string]StringMap{"records": {Elements: map[string]string{"a/web": "imported"}}})
	}}, map[string][]string{kind: {"records"}})
	response, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: kind})
	if err != nil {
		t.Fatal(err)
	}
	if is := unpacked(t, response.ImportedResources[0].State); !is.Equal(withRecords(want)) {
		t.Errorf("%s, want %s", is, withRecords(want))
	}
}

func TestStringMapsLeaveAlone(t *testing.T) {
	t.Parallel()
	server := WithStringMaps(echo{t: t}, map[string][]string{kind: {"records"}})
	gone := packed(t, tftypes.NewValue(mapsType(), nil))
	destroyed, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: kind, PriorState: packed(t, withRecords(textMap(map[string]any{"a": "1"}))), ProposedNewState: gone,
	})
	if err != nil {
		t.Fatal(err)
	}
	if is := unpacked(t, destroyed.PlannedState); !is.IsNull() {
		t.Errorf("the plan of a destroy is %s", is)
	}
	other := packed(t, withRecords(textMap(nil)))
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "fleet_gitrepo", CurrentState: other})
	if err != nil {
		t.Fatal(err)
	}
	if read.NewState != other {
		t.Error("another resource was written again")
	}
}

// A map that the schema does not have would be lost.
func TestStringMapsNeedAttributes(t *testing.T) {
	t.Parallel()
	server := WithStringMaps(echo{t: t, act: func(maps *StringMaps) { maps.Set(map[string]StringMap{"record": {}}) }}, map[string][]string{kind: {"records"}})
	if _, err := calls["read"](t.Context(), server, packed(t, withRecords(textMap(nil))), nil); err == nil {
		t.Error("a map of no attribute was set")
	}
}

// refusing is a server whose calls fail.
type refusing struct{ tfprotov6.ProviderServer }

var errRefused = errors.New("refused")

func (refusing) ReadResource(context.Context, *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return nil, errRefused
}

func TestStringMapsOfDamagedRequests(t *testing.T) {
	t.Parallel()
	whole := packed(t, withRecords(textMap(map[string]any{"a": "1"}))).MsgPack
	tests := map[string]*tfprotov6.DynamicValue{
		"JSON": {JSON: []byte(`{}`)}, "no object": {MsgPack: []byte{0xc3}}, "half an object": {MsgPack: whole[:len(whole)/2]}, "a name that is no text": {MsgPack: []byte{0x81, 0xc3, 0xc3}},
	}
	for name, state := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for called, call := range calls {
				if _, err := call(t.Context(), WithStringMaps(refusing{}, map[string][]string{kind: {"records"}}), state, state); err == nil || errors.Is(err, errRefused) {
					t.Errorf("%s: the error is %v", called, err)
				}
			}
		})
	}
	if _, err := calls["read"](t.Context(), WithStringMaps(refusing{}, map[string][]string{kind: {"records"}}), packed(t, tftypes.NewValue(mapsType(), nil)), nil); !errors.Is(err, errRefused) {
		t.Errorf("the error of the server is %v", err)
	}
}

func FuzzStringMap(f *testing.F) {
	for _, seed := range []StringMap{{}, {Unknown: true}, {Elements: map[string]string{}}, {Elements: map[string]string{"a": "1", "b": ""}}} {
		encoded, err := seed.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		decoded, err := decodeStringMap(value)
		if err != nil {
			return
		}
		encoded, err := decoded.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeStringMap(encoded)
		if diff := cmp.Diff(decoded, again); diff != "" || err != nil {
			t.Errorf("decoded again: %v (-first +second):\n%s", err, diff)
		}
	})
}
