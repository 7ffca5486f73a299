package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Terraform requests a plan twice: for `plan`, and again during `apply`. Terraform 1.16 and later pass
// the private data that the first plan stored to the second one (hashicorp/terraform 37986).
// terraform-plugin-go 0.31 does not know the two fields, so they are read from the message.
//
// All versions pass the private data of the second plan to the apply. terraform-plugin-framework 1.19
// does not pass it on to Create.
const (
	methodPlan = "/tfplugin6.Provider/PlanResourceChange"
	// fieldPlannedPrivate is PlanResourceChange.Request.planned_private.
	fieldPlannedPrivate protowire.Number = 9
	// fieldStoresPlannedPrivate is ClientCapabilities.store_planned_private.
	fieldStoresPlannedPrivate protowire.Number = 3
)

// Planned is what Terraform reports about the private data of a plan.
type Planned struct {
	// Stores is true if Terraform keeps the private data of this plan, and passes it to the plan
	// that it requests during the apply.
	Stores bool
	// Private is what the plan stored that Terraform applies, by key. It is nil in that plan itself.
	Private map[string][]byte
}

type plannedKey struct{}

// PlannedPrivate returns what Terraform has reported with the request for a plan or an apply.
func PlannedPrivate(ctx context.Context) Planned {
	planned, _ := ctx.Value(plannedKey{}).(Planned)
	return planned
}

// readPlannedPrivate is an interceptor.
func readPlannedPrivate(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	message, ok := request.(proto.Message)
	if !ok || info.FullMethod != methodPlan {
		return handle(ctx, request)
	}
	planned, err := plannedOf(message)
	if err != nil {
		return nil, err
	}
	return handle(context.WithValue(ctx, plannedKey{}, planned), request)
}

func plannedOf(request proto.Message) (Planned, error) {
	var planned Planned
	message := request.ProtoReflect()
	private, err := lastField(message.GetUnknown(), fieldPlannedPrivate)
	if err != nil {
		return planned, fmt.Errorf("reading planned_private of a request for a plan: %w", err)
	}
	if planned.Private, err = decodePrivate(private.bytes); err != nil {
		return planned, err
	}
	capabilities := message.Descriptor().Fields().ByName("client_capabilities")
	if capabilities == nil || !message.Has(capabilities) {
		return planned, nil
	}
	stores, err := lastField(message.Get(capabilities).Message().GetUnknown(), fieldStoresPlannedPrivate)
	if err != nil {
		return planned, fmt.Errorf("reading client_capabilities of a request for a plan: %w", err)
	}
	planned.Stores = stores.number == 1
	return planned, nil
}

// withPlanned returns the context of an apply.
func withPlanned(ctx context.Context, request *tfprotov6.ApplyResourceChangeRequest) (context.Context, error) {
	private, err := decodePrivate(request.PlannedPrivate)
	return context.WithValue(ctx, plannedKey{}, Planned{Private: private}), err
}

// decodePrivate reads private data as terraform-plugin-framework encodes it.
func decodePrivate(encoded []byte) (map[string][]byte, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var private map[string][]byte
	if err := json.Unmarshal(encoded, &private); err != nil {
		return nil, fmt.Errorf("decoding the private data of the plan, so plan again: %w", err)
	}
	return private, nil
}

// field is the value of a field of a message.
type field struct {
	bytes  []byte
	number uint64
}

// lastField returns a field that the message type does not have. As in every protobuf message the last
// one counts. The value is zero if there is none.
func lastField(unknown []byte, wanted protowire.Number) (field, error) {
	var found field
	for len(unknown) > 0 {
		number, kind, size := protowire.ConsumeField(unknown)
		if size < 0 {
			return field{}, protowire.ParseError(size)
		}
		if number == wanted {
			_, _, tag := protowire.ConsumeTag(unknown)
			if kind == protowire.BytesType {
				found.bytes, _ = protowire.ConsumeBytes(unknown[tag:])
			}
			if kind == protowire.VarintType {
				found.number, _ = protowire.ConsumeVarint(unknown[tag:])
			}
		}
		unknown = unknown[size:]
	}
	return found, nil
}
