package protocol

import (
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"
)

// maxMessage is the size of a message in bytes that terraform-plugin-go and Terraform allow.
const maxMessage = 256 << 20

// Serve serves a provider to the process that started this one, until that process ends the
// connection. It does what tf6server.Serve does, and calls of a server can read PlannedPrivate, which
// needs an interceptor that tf6server.Serve has no option for.
func Serve(address string, server func() tfprotov6.ProviderServer) {
	plugin.Serve(&plugin.ServeConfig{
		// The handshake of Terraform's plugin protocol 6 (terraform-plugin-go, tfprotov6/tf6server/server.go).
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  6,
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		Plugins: plugin.PluginSet{"provider": &tf6server.GRPCProviderPlugin{Name: address, GRPCProvider: server}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.UnaryInterceptor(readPlannedPrivate))...)
		},
	})
}
