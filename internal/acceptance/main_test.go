package acceptance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // The provider has started its own program.
		worker.Serve(templates.Handlers())
	}
	// Values of Terraform are many small objects: their garbage collection would be a quarter of
	// the time. The setting is not in the environment, because the providers that tests start would
	// inherit it.
	debug.SetGCPercent(400)
	if os.Getenv("TF_ACC") == "" {
		os.Exit(m.Run())
	}
	// The test framework would download a CLI if none were named.
	ctx := context.Background()
	cli, err := testenv.TerraformCLI(ctx, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The CLI configuration of the user who runs the tests must have no effect. The framework
	// cannot handle a warning about it when it reads the version.
	settings := map[string]string{"TF_ACC_TERRAFORM_PATH": cli, "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.DevNull}
	if filepath.Base(cli) == "tofu" {
		settings["TF_ACC_PROVIDER_HOST"] = "registry.opentofu.org"
	}
	for name, value := range settings {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(testenv.Main(m))
}
