// The terraform-provider-fleet command is the provider's plugin process.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/provider"
)

// address is where Terraform finds the provider.
const address = "registry.terraform.io/agentless-fleet/fleet"

// version is set by the release build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger")
	flag.Parse()
	options := providerserver.ServeOpts{Address: address, Debug: *debug}
	if err := providerserver.Serve(context.Background(), provider.New(version), options); err != nil {
		log.Fatal(err)
	}
}
