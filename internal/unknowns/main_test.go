//go:build !race

package unknowns_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // The provider has started its own program.
		worker.Serve(templates.Handlers())
	}
	// Values of Terraform are many small objects: their garbage collection would be a quarter of
	// the time.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
