package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// nodePrograms are the folders of the programs of a node.
type nodePrograms struct{ kubelet, runtime, runc, plugins, names, tests string }

// path returns the folders in which the first process of a node looks for programs.
func (p nodePrograms) path() []string { return []string{p.kubelet, p.runtime, p.runc, p.names} }

// BuildNodes builds the programs of real nodes unless they are built already: containerd, runc, plugins
// of the network, the kubelet, kube-proxy and CoreDNS, and what containers of tests run. The working
// directory must be inside the repository.
func BuildNodes(ctx context.Context, log Log) error {
	_, err := buildNodes(ctx, log)
	return err
}

func buildNodes(ctx context.Context, log Log) (nodePrograms, error) {
	if err := CheckNodes(); err != nil {
		return nodePrograms{}, err
	}
	root, err := repositoryRoot()
	if err != nil {
		return nodePrograms{}, err
	}
	store, err := buildStore()
	if err != nil {
		return nodePrograms{}, err
	}
	planes, version, err := controlPlaneModule(root)
	if err != nil {
		return nodePrograms{}, err
	}
	var programs nodePrograms
	for _, of := range []struct {
		into   *string
		module buildModule
	}{
		{&programs.kubelet, kubeletModule(planes.dir, version)},
		{&programs.runtime, containerdModule(root)},
		{&programs.runc, runcModule(root)},
		{&programs.plugins, pluginsModule(root)},
		{&programs.names, namesModule(root)},
		{&programs.tests, testProgramsModule(root)},
	} {
		if *of.into, err = build(ctx, orSilent(log), of.module, store); err != nil {
			return nodePrograms{}, err
		}
	}
	return programs, nil
}

// CheckNodes returns why this machine cannot run real nodes, nil if it can.
func CheckNodes() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("real nodes need Linux, and this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("real nodes need root, for namespaces and control groups")
	}
	for _, program := range []string{"ip", "nft", "unshare", "gcc", "pkg-config"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("real nodes need the program %s", program)
		}
	}
	if exec.Command("pkg-config", "--exists", "libseccomp").Run() != nil { //nolint:noctx // It reads a file.
		return fmt.Errorf("real nodes need the headers of libseccomp: libseccomp-dev of Debian")
	}
	return nil
}

func nodeDir(root, name string) string {
	return filepath.Join(root, "internal", "testenv", "node", name)
}

// kubeletModule has the versions of the control planes.
func kubeletModule(dir, version string) buildModule {
	return buildModule{dir: dir, ldflags: kubernetesFlags(version), tools: []buildTool{
		{name: "kubelet", pkg: kubernetesPath + "/cmd/kubelet", estimate: "about 1 min"},
		{name: "kube-proxy", pkg: kubernetesPath + "/cmd/kube-proxy", estimate: "a few seconds"},
	}}
}

func containerdModule(root string) buildModule {
	const (
		commands = "github.com/containerd/containerd/v2/cmd/"
		tags     = "no_btrfs no_devmapper no_zfs no_aufs"
	)
	return buildModule{dir: nodeDir(root, "containerd"), ldflags: "-s -w", tools: []buildTool{
		{name: "containerd", pkg: commands + "containerd", tags: tags, estimate: "about 2 min"},
		{name: "containerd-shim-runc-v2", pkg: commands + "containerd-shim-runc-v2", tags: tags, estimate: "a few seconds"},
		{name: "ctr", pkg: commands + "ctr", tags: tags, estimate: "a few seconds"},
	}}
}

func runcModule(root string) buildModule {
	return buildModule{dir: nodeDir(root, "runc"), ldflags: "-s -w", tools: []buildTool{
		{name: "runc", pkg: "github.com/opencontainers/runc", tags: "seccomp", estimate: "about 20 s"},
	}}
}

func pluginsModule(root string) buildModule {
	const plugins = "github.com/containernetworking/plugins/plugins/"
	module := buildModule{dir: nodeDir(root, "cni"), ldflags: "-s -w"}
	for _, plugin := range []string{"main/loopback", "main/ptp", "ipam/host-local", "meta/portmap"} {
		module.tools = append(module.tools, buildTool{name: filepath.Base(plugin), pkg: plugins + plugin, estimate: "a few seconds"})
	}
	return module
}

func namesModule(root string) buildModule {
	return buildModule{dir: nodeDir(root, "coredns"), ldflags: "-s -w", sources: []string{"main.go"}, tools: []buildTool{
		{name: "coredns", pkg: ".", estimate: "about 1 min"},
	}}
}

// testProgramsModule is the repository itself: the first process of a node, and what containers run.
func testProgramsModule(root string) buildModule {
	const dir = "internal/testenv/"
	return buildModule{
		dir: root, ldflags: "-s -w", static: true,
		sources: []string{dir + "nodeinit/*.go", dir + "nodeimage/*/*.go"},
		tools: []buildTool{
			{name: "nodeinit", pkg: "./" + dir + "nodeinit", estimate: "a few seconds"},
			{name: "app", pkg: "./" + dir + "nodeimage/app", estimate: "a few seconds"},
			{name: "pause", pkg: "./" + dir + "nodeimage/pause", estimate: "a few seconds"},
		},
	}
}
