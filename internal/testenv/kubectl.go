package testenv

import (
	"context"
	"path/filepath"
)

// KubectlCLI returns the path of kubectl, in the newest version of Kubernetes that the control planes
// have. It is built from its module, which takes about a minute the first time. The working directory must
// be inside the repository.
func KubectlCLI(ctx context.Context, log Log) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	planes, version, err := controlPlaneModule(root)
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	dir, err := build(ctx, orSilent(log), kubectlModule(planes.dir, version), store)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "kubectl"), nil
}

func kubectlModule(dir, version string) buildModule {
	return buildModule{dir: dir, ldflags: kubernetesFlags(version), tools: []buildTool{
		{name: "kubectl", pkg: kubernetesPath + "/cmd/kubectl", estimate: "about 1 min"},
	}}
}
