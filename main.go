// The terraform-provider-fleet command is the provider's plugin process.
package main

import (
	"errors"
	"flag"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/memory"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/provider"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// address is the address of the provider for Terraform.
const address = "registry.terraform.io/agentless-fleet/fleet"

// version is set by the release build.
var version = "dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument {
		worker.Serve(templates.Handlers())
	}
	debug := flag.Bool("debug", false, "wait for a debugger")
	flag.Parse()
	memory.Limit()
	go memory.AdjustCollector()
	provider.SilenceClients()
	if err := spareLogging(); err != nil {
		log.Fatal(err)
	}
	if err := serve(*debug); err != nil {
		log.Fatal(err)
	}
}

func serve(debug bool) error {
	cleanup := &provider.Cleanup{}
	server := provider.Server(version, cleanup)
	if debug {
		err := tf6server.Serve(address, server, tf6server.WithManagedDebug())
		return errors.Join(err, cleanup.Run())
	}
	parent := os.Getppid()
	go func() {
		orphaned(parent)
		_ = cleanup.Run() // Terraform no longer runs, so the error cannot be reported.
		os.Exit(1)
	}()
	protocol.Serve(address, server)
	return cleanup.Run()
}
