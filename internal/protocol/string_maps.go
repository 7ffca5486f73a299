package protocol

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// StringMap is a map of strings in a state or a plan.
type StringMap struct {
	// Elements are nil if the map is null or unknown. An unknown element is "".
	Elements map[string]string
	Unknown  bool
}

// StringMaps are the computed maps of strings in a call for a resource, by the names of their
// attributes. They do not pass through terraform-plugin-framework, which would create several values
// for each element and look each up in the schema several times: the framework has null in place of
// each map.
type StringMaps struct {
	// prior are those of the state before, planned those of the plan that an apply carries out. Both are
	// encoded.
	prior, planned map[string][]byte
	// result are those that the call returns, nil if it did not set them.
	result map[string]StringMap
}

type stringMapsKey struct{}

// StringMapsOf returns the maps of the current call. It panics if the server is not one of
// WithStringMaps: without its maps, a resource would look empty.
func StringMapsOf(ctx context.Context) *StringMaps {
	return ctx.Value(stringMapsKey{}).(*StringMaps) //nolint:forcetypeassert // As above.
}

// withStringMaps returns the context of a call. The framework keeps each context until the process ends,
// so the caller has to run done, which empties the maps.
func withStringMaps(ctx context.Context, maps *StringMaps) (_ context.Context, done func()) {
	return context.WithValue(ctx, stringMapsKey{}, maps), func() { *maps = StringMaps{} }
}

// Prior returns the maps of the state. It is empty if there is no state.
func (m *StringMaps) Prior() (map[string]StringMap, error) { return decodeStringMaps(m.prior) }

// Planned returns the maps of the plan that an apply carries out.
func (m *StringMaps) Planned() (map[string]StringMap, error) { return decodeStringMaps(m.planned) }

// Set sets the maps of the plan or the state that the call returns. Without it, the maps of a plan are
// unknown if an attribute changes, and all others stay as they were.
func (m *StringMaps) Set(maps map[string]StringMap) { m.result = maps }

// WithStringMaps returns a server that keeps computed maps of strings from the given one. attributes are
// their names by the type of their resource. See StringMaps.
func WithStringMaps(of tfprotov6.ProviderServer, attributes map[string][]string) tfprotov6.ProviderServer {
	return stringMapServer{of, attributes}
}

type stringMapServer struct {
	tfprotov6.ProviderServer

	attributes map[string][]string
}

func (s stringMapServer) UpgradeResourceState(ctx context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if request.RawState == nil {
		return s.ProviderServer.UpgradeResourceState(ctx, request)
	}
	rest, stored, err := takeStored(request.RawState.JSON, s.attributes[request.TypeName])
	if err != nil { // The framework describes it better.
		return s.ProviderServer.UpgradeResourceState(ctx, request)
	}
	without := *request
	without.RawState = &tfprotov6.RawState{JSON: rest, Flatmap: request.RawState.Flatmap}
	response, err := s.ProviderServer.UpgradeResourceState(ctx, &without)
	if err != nil {
		return response, err
	}
	response.UpgradedState, err = put(response.UpgradedState, stored)
	return response, err
}

func (s stringMapServer) ReadResource(ctx context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	without, maps := *request, &StringMaps{}
	var err error
	if without.CurrentState, maps.prior, err = take(request.CurrentState, s.attributes[request.TypeName]); err != nil {
		return nil, err
	}
	ctx, done := withStringMaps(ctx, maps)
	defer done()
	response, err := s.ProviderServer.ReadResource(ctx, &without)
	if err != nil {
		return response, err
	}
	response.NewState, err = maps.put(response.NewState)
	return response, err
}

func (s stringMapServer) PlanResourceChange(ctx context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	without, maps, names := *request, &StringMaps{}, s.attributes[request.TypeName]
	var err error
	if without.PriorState, maps.prior, err = take(request.PriorState, names); err != nil {
		return nil, err
	}
	if without.ProposedNewState, _, err = take(request.ProposedNewState, names); err != nil { // It proposes those of the state.
		return nil, err
	}
	ctx, done := withStringMaps(ctx, maps)
	defer done()
	response, err := s.ProviderServer.PlanResourceChange(ctx, &without)
	if err != nil {
		return response, err
	}
	response.PlannedState, err = maps.put(response.PlannedState)
	return response, err
}

func (s stringMapServer) ApplyResourceChange(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	without, maps, names := *request, &StringMaps{}, s.attributes[request.TypeName]
	var err error
	if without.PriorState, maps.prior, err = take(request.PriorState, names); err != nil {
		return nil, err
	}
	if without.PlannedState, maps.planned, err = take(request.PlannedState, names); err != nil {
		return nil, err
	}
	ctx, done := withStringMaps(ctx, maps)
	defer done()
	response, err := s.ProviderServer.ApplyResourceChange(ctx, &without)
	if err != nil {
		return response, err
	}
	response.NewState, err = maps.put(response.NewState)
	return response, err
}

func (s stringMapServer) ImportResourceState(ctx context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	maps := &StringMaps{}
	ctx, done := withStringMaps(ctx, maps)
	defer done()
	response, err := s.ProviderServer.ImportResourceState(ctx, request)
	if err != nil {
		return response, err
	}
	for _, imported := range response.ImportedResources {
		if imported.State, err = maps.put(imported.State); err != nil {
			return nil, err
		}
	}
	return response, nil
}

// put adds the maps that were set to an object, or else those of the state.
func (m *StringMaps) put(into *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	if m.result == nil {
		return put(into, m.prior)
	}
	encoded := make(map[string][]byte, len(m.result))
	for name, of := range m.result {
		value, err := of.encode()
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		encoded[name] = value
	}
	return put(into, encoded)
}
