package testenv

import (
	"context"
	"fmt"
	"path/filepath"
)

// helmPath is the module of Helm, whose SDK this project uses.
const helmPath = "helm.sh/helm/v3"

// HelmCLI returns the path of Helm's own command, in the version of the SDK that this project uses.
// It is built from Helm's module, which takes some minutes the first time. The working directory
// must be inside the repository.
func HelmCLI(ctx context.Context, log Log) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	module, err := helmModule(root)
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	dir, err := build(ctx, orSilent(log), module, store)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "helm"), nil
}

func helmModule(root string) (buildModule, error) {
	dir := filepath.Join(root, "internal", "testenv", "helm")
	version, err := requiredVersion(filepath.Join(dir, "go.mod"), helmPath)
	if err != nil {
		return buildModule{}, err
	}
	linked, err := requiredVersion(filepath.Join(root, "go.mod"), helmPath)
	if err != nil {
		return buildModule{}, err
	}
	if version != linked {
		return buildModule{}, fmt.Errorf("%s requires Helm %s, but the provider links %s", dir, version, linked)
	}
	return buildModule{
		dir:     dir,
		ldflags: fmt.Sprintf("-s -w -X %s/internal/version.version=%s", helmPath, version),
		tools: []buildTool{
			{name: "helm", pkg: helmPath + "/cmd/helm", estimate: "about 1 min"},
		},
	}, nil
}
