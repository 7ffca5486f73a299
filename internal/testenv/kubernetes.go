package testenv

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KubernetesVariable names the minor version of Kubernetes to run, such as "1.34". If it is unset,
// the version of controlplane/go.mod runs.
const KubernetesVariable = "FLEET_TEST_KUBERNETES"

const (
	kubernetesPath = "k8s.io/kubernetes"
	// Without these flags the API server reports a placeholder, and charts with a kubeVersion are
	// refused.
	versionFlags = "-s -w -X k8s.io/component-base/version.gitVersion=%s -X k8s.io/component-base/version.gitMajor=%s -X k8s.io/component-base/version.gitMinor=%s"
)

// formerKubernetes returns the versions that tests can run in addition to that of
// controlplane/go.mod. They are updated by hand only.
func formerKubernetes() map[string]string {
	return map[string]string{"1.33": "v1.33.13", "1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3"}
}

// Build builds the control planes unless they are built already. It returns the folder with the
// programs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, and kwok.yaml.
// Programs of Kubernetes have the version that KubernetesVariable names. The working directory must
// be inside the repository.
func Build(ctx context.Context, log Log) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	newest, version, err := controlPlaneModule(root)
	if err != nil {
		return "", err
	}
	former, err := formerVersion(os.Getenv(KubernetesVariable), version)
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	dir, err := build(ctx, orSilent(log), newest, store)
	if err != nil || former == "" {
		return dir, err
	}
	module, err := formerModule(root, former, dir)
	if err != nil {
		return "", err
	}
	return build(ctx, orSilent(log), module, store)
}

// formerVersion returns the version for a minor version, "" for the newest or if minor is empty.
func formerVersion(minor, newest string) (string, error) {
	former := formerKubernetes()
	if version, ok := former[minor]; ok || minor == "" || minor == minorOf(newest) {
		return version, nil
	}
	known := append(slices.Sorted(maps.Keys(former)), minorOf(newest))
	return "", fmt.Errorf("%s is %q, and the versions to build are %s", KubernetesVariable, minor, strings.Join(known, ", "))
}

// minorOf returns "1.37" of "v1.37.2".
func minorOf(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

func kubernetesFlags(version string) string {
	major, minor, _ := strings.Cut(minorOf(version), ".")
	return fmt.Sprintf(versionFlags, version, major, minor)
}

// programs returns the names of all programs that run in an environment.
func programs() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
}

func kubernetesTools() []buildTool {
	return []buildTool{
		{name: "kube-apiserver", pkg: kubernetesPath + "/cmd/kube-apiserver", estimate: "about 2 min"},
		{name: "kube-controller-manager", pkg: kubernetesPath + "/cmd/kube-controller-manager", estimate: "about 40 s"},
		{name: "kube-scheduler", pkg: kubernetesPath + "/cmd/kube-scheduler", estimate: "a few seconds"},
	}
}

// controlPlaneModule returns the module of the programs of an environment, and its Kubernetes
// version.
func controlPlaneModule(root string) (module buildModule, version string, err error) {
	dir := filepath.Join(root, "internal", "testenv", "controlplane")
	version, err = requiredVersion(filepath.Join(dir, "go.mod"), kubernetesPath)
	return buildModule{
		dir:     dir,
		ldflags: kubernetesFlags(version),
		tools: slices.Concat([]buildTool{
			{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", estimate: "about 20 s"},
		}, kubernetesTools(), []buildTool{
			{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", estimate: "about 15 s"},
		}),
		files: []buildFile{{
			name:   kwokStages,
			module: "sigs.k8s.io/kwok",
			paths: []string{
				"kustomize/stage/node/fast/node-initialize.yaml",
				"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
				"kustomize/stage/pod/fast/pod-ready.yaml",
				"kustomize/stage/pod/fast/pod-complete.yaml",
				"kustomize/stage/pod/fast/pod-delete.yaml",
				"kustomize/stage/pod/chaos/pod-container-running-failed.yaml", // Only for Pods with its label.
			},
		}},
	}, version, err
}

const kwokStages = "kwok.yaml"

// formerModule returns the module of another version of Kubernetes. It links etcd and kwok of the
// newest build. Modules inside the repository of Kubernetes are published with their own versions:
// those of v1.34.4 as v0.34.4.
func formerModule(root, version, newestBuild string) (buildModule, error) {
	newest, err := readGoMod(filepath.Join(root, "internal", "testenv", "controlplane", "go.mod"))
	if err != nil {
		return buildModule{}, err
	}
	var goMod strings.Builder
	fmt.Fprintf(&goMod, "module %s/internal/testenv/former\n\ngo 1.26.0\n\nrequire %s %s\n\n", modulePath, kubernetesPath, version)
	for _, replaced := range newest.Replace {
		fmt.Fprintf(&goMod, "replace %s => %[1]s v0%s\n", replaced.Old.Path, strings.TrimPrefix(version, "v1"))
	}
	var links []buildLink
	for _, name := range []string{"etcd", "kwok", kwokStages} {
		links = append(links, buildLink{name: name, from: newestBuild})
	}
	return buildModule{written: map[string]string{"go.mod": goMod.String()}, ldflags: kubernetesFlags(version), tools: kubernetesTools(), links: links}, nil
}
