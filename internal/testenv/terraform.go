package testenv

import (
	"context"
	"os/exec"
	"path/filepath"
)

// TerraformCLI returns the path of the command to run configurations with: terraform from PATH, else
// tofu from PATH, else OpenTofu built from its Go module, which takes some minutes the first time.
// The working directory must be inside the repository.
func TerraformCLI(ctx context.Context, log Log) (string, error) {
	for _, name := range []string{"terraform", "tofu"} {
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
