package provider

import (
	"os"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // The provider has started its own program.
		worker.Serve(templates.Handlers())
	}
	os.Exit(m.Run())
}
