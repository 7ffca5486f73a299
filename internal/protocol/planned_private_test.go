package protocol

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// planner remembers what Terraform reported with the last request for a plan.
type planner struct {
	tfprotov6.ProviderServer

	reported *Planned
}

func (p planner) PlanResourceChange(ctx context.Context, _ *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	*p.reported = PlannedPrivate(ctx)
	return &tfprotov6.PlanResourceChangeResponse{}, nil
}

// message is an encoded protobuf message, which a client sends as it is.
type message []byte

func (message) Marshal(encoded any) ([]byte, error)    { return *encoded.(*message), nil }      //nolint:forcetypeassert // a panic fails the test
func (message) Unmarshal(encoded []byte, to any) error { *to.(*message) = encoded; return nil } //nolint:forcetypeassert // a panic fails the test
func (message) Name() string                           { return "proto" }
func with(of message, number protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(of, number, protowire.BytesType), value)
}

func flagged(of message, number protowire.Number) message {
	return protowire.AppendVarint(protowire.AppendTag(of, number, protowire.VarintType), 1)
}

func TestPlannedPrivate(t *testing.T) {
	t.Parallel()
	const clientCapabilities = 7 // PlanResourceChange.Request.client_capabilities
	named := with(nil, 1, []byte("fleet_gitrepo"))
	pinned := []byte(`{"commit":"YWJj"}`)
	tests := map[string]struct {
		request message
		want    Planned
		fails   bool
	}{
		"an earlier Terraform":                   {request: named},
		"capabilities of an earlier Terraform":   {request: with(named, clientCapabilities, flagged(nil, 2))},
		"the first plan":                         {request: with(named, clientCapabilities, flagged(flagged(nil, 2), fieldStoresPlannedPrivate)), want: Planned{Stores: true}},
		"the plan before an apply":               {request: with(with(named, clientCapabilities, flagged(nil, fieldStoresPlannedPrivate)), fieldPlannedPrivate, pinned), want: Planned{Stores: true, Private: map[string][]byte{"commit": []byte("abc")}}},
		"the plan before an apply that had none": {request: with(with(named, clientCapabilities, flagged(nil, fieldStoresPlannedPrivate)), fieldPlannedPrivate, nil), want: Planned{Stores: true}},
		"fields of a later Terraform":            {request: with(flagged(named, 20), 21, []byte("x"))},
		"the last one counts":                    {request: with(with(named, fieldPlannedPrivate, []byte("x")), fieldPlannedPrivate, pinned), want: Planned{Private: map[string][]byte{"commit": []byte("abc")}}},
		"no JSON":                                {request: with(named, fieldPlannedPrivate, []byte("x")), fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				reported Planned
				response message
			)
			client := serve(t, planner{reported: &reported})
			err := client.Invoke(t.Context(), methodPlan, &test.request, &response, grpc.ForceCodec(message{}))
			if (err != nil) != test.fails {
				t.Fatalf("the error is %v", err)
			}
			if diff := cmp.Diff(test.want, reported); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// serve serves a provider with the interceptor, and returns a connection to it.
func serve(t *testing.T, provider tfprotov6.ProviderServer) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by the server below
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(readPlannedPrivate))
	plugin := tf6server.GRPCProviderPlugin{GRPCProvider: func() tfprotov6.ProviderServer { return provider }}
	if err := plugin.GRPCServer(nil, server); err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func FuzzLastField(f *testing.F) {
	f.Add([]byte(with(flagged(nil, 3), fieldPlannedPrivate, []byte("x"))), uint16(9))
	f.Add([]byte{0xff, 0xff}, uint16(3))
	f.Fuzz(func(t *testing.T, unknown []byte, number uint16) {
		found, err := lastField(unknown, protowire.Number(number))
		if err == nil && len(found.bytes) > len(unknown) {
			t.Error("a field is longer than its message")
		}
	})
}
