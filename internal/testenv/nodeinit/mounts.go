//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mountAll mounts what belongs to the node alone. The mounts are gone with its namespaces.
func (n *node) mountAll() error {
	for _, at := range []string{"/run", "/var/lib", "/var/log"} {
		if err := mount("tmpfs", at, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	if err := mountCgroups(); err != nil {
		return err
	}
	if err := hideSettings(); err != nil {
		return err
	}
	// A name that nothing answers fails at once, so that a missing image does too.
	if err := n.replace("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"); err != nil {
		return err
	}
	// The kubelet needs mounts that propagate into containers.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("sharing mounts with containers: %w", err)
	}
	return nil
}

func mount(source, at, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, at, kind, flags, data); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", kind, at, err)
	}
	return nil
}

// mountCgroups mounts the hierarchies of control groups anew. In the namespace of the node, its own
// groups are their roots. Otherwise containers would be in groups of the machine.
func mountCgroups() error {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("reading the control groups: %w", err)
	}
	hierarchies := strings.Fields(string(own))
	const root = "/sys/fs/cgroup"
	if len(hierarchies) == 1 { // Version 2 alone.
		if err := mount("cgroup2", root, "cgroup2", 0, ""); err != nil {
			return err
		}
		return delegate(root)
	}
	if err := mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, line := range hierarchies {
		_, rest, _ := strings.Cut(line, ":")
		controllers, _, _ := strings.Cut(rest, ":")
		name, kind, options := controllers, "cgroup", controllers
		switch controllers {
		case "":
			name, kind, options = "unified", "cgroup2", ""
		case "name=systemd":
			name, options = "systemd", "none,name=systemd"
		}
		at := filepath.Join(root, name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return fmt.Errorf("creating a folder for control groups: %w", err)
		}
		if err := mount(kind, at, kind, 0, options); err != nil {
			return err
		}
	}
	return nil
}

// delegate gives all controllers to the groups of containers. A group of version 2 can do so only if it
// has no processes, so this one gets a group of its own. No machine with version 2 alone has run it yet.
func delegate(root string) error {
	own := filepath.Join(root, "node")
	if err := os.Mkdir(own, 0o755); err != nil {
		return fmt.Errorf("creating a control group: %w", err)
	}
	if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte("0"), 0o600); err != nil {
		return fmt.Errorf("entering a control group: %w", err)
	}
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers of control groups: %w", err)
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+controller), 0o600); err != nil {
			return fmt.Errorf("giving the controller %s to containers: %w", controller, err)
		}
	}
	return nil
}

// hideSettings covers settings of the whole machine. The kubelet requires these values, and would
// change them.
func hideSettings() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		if err := cover(filepath.Join("/run/settings", name), filepath.Join("/proc/sys", name), value+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// replace covers a file of the machine.
func (n *node) replace(path, content string) error {
	return cover(filepath.Join("/run/files", path), path, content)
}

func cover(file, at, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("creating a folder in place of %s: %w", at, err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		return fmt.Errorf("writing a file in place of %s: %w", at, err)
	}
	return mount(file, at, "", unix.MS_BIND, "")
}
