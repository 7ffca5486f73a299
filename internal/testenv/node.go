package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A node is a real node of one cluster: a kubelet with containers, in namespaces and control groups of
// its own. A pair of network interfaces joins it to this machine, where its API server runs.
type node struct {
	dir      string
	launcher launcher
	programs nodePrograms
	// index is the number of the network between this machine and the node.
	index int
	// opened is true while the link exists.
	opened  bool
	running *process
	groups  []string
}

// networks is how many networks of nodes there can be on a machine.
const networks = 200

func (n *node) link() string    { return "fleetnode" + strconv.Itoa(n.index) }
func (n *node) peer() string    { return "fleetpeer" + strconv.Itoa(n.index) }
func (n *node) host() string    { return fmt.Sprintf("172.31.%d.1", n.index) }
func (n *node) address() string { return fmt.Sprintf("172.31.%d.2", n.index) }
func (n *node) pods() string    { return fmt.Sprintf("10.244.%d.0/24", n.index) }

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

// claim takes a network that no other node of this machine has.
func (n *node) claim(ctx context.Context) error {
	var last error
	for n.index = 1; n.index <= networks; n.index++ {
		if last = n.open(ctx); last == nil {
			return nil
		}
	}
	return fmt.Errorf("looking for a network for a node: %w", last)
}

// open makes the link of the network, unless the node has it. A link of one name exists once. It ends
// with the namespace of the node.
func (n *node) open(ctx context.Context) error {
	if n.opened {
		return nil
	}
	if err := ip(ctx, "link", "add", n.link(), "type", "veth", "peer", "name", n.peer()); err != nil {
		return err
	}
	n.opened = true
	return errors.Join(ip(ctx, "addr", "add", n.host()+"/24", "dev", n.link()), ip(ctx, "link", "set", n.link(), "up"))
}

func ip(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running ip %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// start starts the node. Its API server must run.
func (n *node) start(ctx context.Context, kubeconfig, nodeKubeconfig string) error {
	images, err := n.writeImages()
	if err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{
		"Name": nodeName, "Dir": n.dir, "Address": n.address(), "Host": n.host(), "Pods": n.pods(),
		"Path": n.programs.path(), "Plugins": n.programs.plugins, "Images": images, "Pause": pauseImage,
		"Kubeconfig": kubeconfig, "NodeKubeconfig": nodeKubeconfig,
	})
	if err != nil {
		return fmt.Errorf("encoding the settings of a node: %w", err)
	}
	if err := write(n.file("node.json"), settings); err != nil {
		return err
	}
	if err := n.makeGroups(); err != nil {
		return err
	}
	// The groups have to be entered before the namespace of groups is made, which has them as roots.
	const script = `for group in $FLEET_GROUPS; do echo $$ >"$group/cgroup.procs" || exit 1; done
exec unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child=KILL --propagation private --mount-proc "$0" "$1"`
	shell := n.launcher
	shell.programs, shell.variables = "/bin", []string{"FLEET_GROUPS=" + strings.Join(n.groups, " ")}
	n.running, err = shell.start(ctx, "sh", n.file("node.log"), "-c", script, filepath.Join(n.programs.tests, "nodeinit"), n.file("node.json"))
	if err != nil {
		return err
	}
	return n.connect(ctx)
}

// connect moves one end of the link into the network namespace of the node.
func (n *node) connect(ctx context.Context) error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("reading the network namespace: %w", err)
	}
	pid := strconv.Itoa(n.running.command.Process.Pid)
	r := readiness{failure: n.running.failure}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = r.wait(ctx, "the namespaces of the node", func(context.Context) error {
		its, err := os.Readlink("/proc/" + pid + "/ns/net")
		if err == nil && its == own {
			err = errors.New("it is in the network namespace of this machine")
		}
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(
		ip(ctx, "link", "set", n.peer(), "netns", pid, "name", "eth0"),
		ip(ctx, "route", "replace", n.pods(), "via", n.address()),
	)
}

func (n *node) writeImages() ([]string, error) {
	return writeTestImages(n.dir, n.programs.tests)
}

// makeGroups makes a control group for the node in each hierarchy, below those of this process.
func (n *node) makeGroups() error {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("reading the control groups: %w", err)
	}
	lines := strings.Fields(string(own))
	n.groups = nil
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, ":")
		controllers, path, _ := strings.Cut(rest, ":")
		mount := "/sys/fs/cgroup/" + strings.TrimPrefix(controllers, "name=")
		switch {
		case len(lines) == 1:
			mount = "/sys/fs/cgroup"
		case controllers == "":
			mount = "/sys/fs/cgroup/unified"
		}
		parent := filepath.Join(mount, path)
		if len(lines) == 1 {
			parent = delegating(mount, path)
		}
		if _, err := os.Stat(parent); err != nil {
			continue // The hierarchy is not mounted here.
		}
		group := filepath.Join(parent, filepath.Base(filepath.Dir(n.dir))+"-"+filepath.Base(n.dir))
		if err := os.MkdirAll(group, 0o755); err != nil {
			return fmt.Errorf("making a control group: %w", err)
		}
		n.groups = append(n.groups, group)
		if controllers == "cpuset" {
			if err := inherit(parent, group, "cpuset.cpus", "cpuset.mems"); err != nil {
				return err
			}
		}
	}
	return write(n.file("groups"), []byte(strings.Join(n.groups, "\n")+"\n"))
}

// delegating returns the nearest control group of version 2 whose children have a limit of memory. It
// can be that of this process only if it is the root: a group with processes gives nothing to children.
// No machine with version 2 alone has run it yet.
func delegating(mount, path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		given, err := os.ReadFile(filepath.Join(mount, path, "cgroup.subtree_control"))
		if err == nil && slices.Contains(strings.Fields(string(given)), "memory") {
			break
		}
	}
	return filepath.Join(mount, path)
}

// inherit copies settings of a control group, which are empty in a new one.
func inherit(parent, group string, names ...string) error {
	for _, name := range names {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return fmt.Errorf("reading a setting of a control group: %w", err)
		}
		if err := os.WriteFile(filepath.Join(group, name), value, 0o600); err != nil {
			return fmt.Errorf("writing a setting of a control group: %w", err)
		}
	}
	return nil
}

// stop ends all processes of the node, and removes its groups. The link ends with its namespace.
func (n *node) stop(ctx context.Context) error {
	if n.opened && n.running == nil { // The link has not been moved.
		n.opened = false
		return ip(ctx, "link", "del", n.link())
	}
	if n.running == nil {
		return nil
	}
	if err := n.running.stop(ctx); err != nil {
		return err
	}
	n.running, n.opened = nil, false
	r := readiness{failure: func() error { return nil }}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return r.wait(ctx, "the control groups and the link of a node to be gone", func(context.Context) error {
		if _, err := os.Stat("/sys/class/net/" + n.link()); err == nil {
			return errors.New("the link exists")
		}
		return removeGroups(n.groups)
	})
}

// removeGroups removes control groups and those below them.
func removeGroups(groups []string) error {
	var failures []error
	for _, group := range groups {
		var below []string
		err := filepath.WalkDir(group, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				below = append(below, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			failures = append(failures, err)
		}
		for _, path := range slices.Backward(below) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				failures = append(failures, err)
			}
		}
	}
	return errors.Join(failures...)
}
