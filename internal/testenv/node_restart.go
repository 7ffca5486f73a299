package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// RestartKubelet kills the kubelet of the real node of the cluster, and returns when another one runs.
// Containers keep running.
func (c *Cluster) RestartKubelet(ctx context.Context) error {
	if c.local == nil || c.local.node == nil {
		return ErrExternal
	}
	n := c.local.node
	killed, err := n.find("kubelet")
	if err != nil {
		return err
	}
	if err := killed.Kill(); err != nil {
		return fmt.Errorf("killing a kubelet: %w", err)
	}
	r := readiness{failure: n.running.failure}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return r.wait(ctx, "another kubelet", func(context.Context) error {
		found, err := n.find("kubelet")
		if err == nil && found.Pid == killed.Pid {
			err = errors.New("the killed kubelet exists")
		}
		return err
	})
}

// find returns the process of a program in the namespaces of the node.
func (n *node) find(program string) (*os.Process, error) {
	network := func(process string) string {
		link, _ := os.Readlink(filepath.Join(process, "ns", "net")) // The process may have ended.
		return link
	}
	its := network("/proc/" + strconv.Itoa(n.running.command.Process.Pid))
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	for _, file := range names {
		name, err := os.ReadFile(filepath.Clean(file))
		if err != nil || strings.TrimSpace(string(name)) != program || network(filepath.Dir(file)) != its {
			continue // Others have ended, or belong to other nodes.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, fmt.Errorf("reading the number of a process: %w", err)
		}
		return os.FindProcess(pid)
	}
	return nil, fmt.Errorf("no %s runs on the node", program)
}
