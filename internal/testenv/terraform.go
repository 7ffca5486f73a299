package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// CLIVariable names the command to run configurations with: "tofu", or the name or the path of
// another command, such as "/opt/terraform-1.14/terraform".
const CLIVariable = "FLEET_TEST_CLI"

// TerraformCLI returns the path of the command to run configurations with: the one that CLIVariable
// names, else terraform from PATH, else tofu from PATH. A tofu that is not there is built from its Go
// module, which takes some minutes the first time. The working directory must be inside the repository.
func TerraformCLI(ctx context.Context, log Log) (string, error) {
	chosen := os.Getenv(CLIVariable)
	if chosen != "" && chosen != "tofu" {
		path, err := exec.LookPath(chosen)
		if err != nil {
			return "", fmt.Errorf("looking for the command that %s names: %w", CLIVariable, err)
		}
		return filepath.Abs(path)
	}
	for _, name := range []string{"terraform", "tofu"} {
		if chosen != "" && chosen != name {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	dir, err := build(ctx, orSilent(log), openTofuModule(root), filepath.Join(root, ".build", "testenv"))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tofu"), nil
}

func openTofuModule(root string) buildModule {
	return buildModule{
		dir: filepath.Join(root, "internal", "testenv", "opentofu"),
		// A build that is not marked as released is a prerelease, which version constraints refuse.
		ldflags: "-s -w -X github.com/opentofu/opentofu/version.dev=no",
		tools: []buildTool{
			{name: "tofu", pkg: "github.com/opentofu/opentofu/cmd/tofu", estimate: "about 3 min"},
		},
	}
}
