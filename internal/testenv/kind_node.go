package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// LinkKindPrograms builds what a node image of kind contains, unless it is built already: the programs of
// the control planes and of real nodes, kubeadm and kubectl. It links them into a folder, and returns the
// version of Kubernetes. The working directory must be inside the repository.
func LinkKindPrograms(ctx context.Context, dir string, log Log) (version string, err error) {
	nodes, err := buildNodes(ctx, log)
	if err != nil {
		return "", err
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	planes, version, err := controlPlaneModule(root)
	if err != nil {
		return "", err
	}
	folders := append(nodes.path(), nodes.plugins)
	for _, module := range []buildModule{planes, kubeadmModule(planes.dir, version), kubectlModule(planes.dir, version)} {
		folder, err := build(ctx, orSilent(log), module, store)
		if err != nil {
			return "", err
		}
		folders = append(folders, folder)
	}
	return version, linkFiles(dir, folders)
}

func kubeadmModule(dir, version string) buildModule {
	return buildModule{dir: dir, ldflags: kubernetesFlags(version), tools: []buildTool{
		{name: "kubeadm", pkg: kubernetesPath + "/cmd/kubeadm", estimate: "about 30 s"},
	}}
}

// linkFiles links the files of folders into one folder.
func linkFiles(dir string, folders []string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("creating a folder for programs: %w", err)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return fmt.Errorf("reading a folder of programs: %w", err)
		}
		for _, entry := range entries {
			if err := os.Symlink(filepath.Join(folder, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("linking a program: %w", err)
			}
		}
	}
	return nil
}
