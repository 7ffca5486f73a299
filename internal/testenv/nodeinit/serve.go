//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// service is a program of the node that is started again when it ends.
type service struct {
	name string
	args []string
}

// serve starts the programs of the node and starts them again when they end.
func (n *node) serve(ctx context.Context) error {
	running := map[int]service{}
	start := func(s service) error {
		pid, err := n.start(s)
		if err == nil {
			running[pid] = s
		}
		return err
	}
	if err := start(service{"containerd", []string{"--config", n.file("containerd.toml")}}); err != nil {
		return err
	}
	if err := start(service{"coredns", []string{"-conf", n.file("Corefile")}}); err != nil {
		return err
	}
	if err := n.loadImages(ctx); err != nil {
		return err
	}
	for _, s := range []service{
		{"kubelet", []string{
			"--config=" + n.file("kubelet.yaml"), "--kubeconfig=" + n.NodeKubeconfig, "--root-dir=" + n.file("kubelet"),
			"--hostname-override=" + n.Name, "--node-ip=" + n.Address,
		}},
		{"kube-proxy", []string{"--config=" + n.file("proxy.yaml")}},
	} {
		if err := start(s); err != nil {
			return err
		}
	}
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("waiting for processes: %w", err)
		}
		if s, is := running[pid]; is { // All others are orphans of containers.
			log.Printf("%s ended with %d, signal %d", s.name, ended.ExitStatus(), ended.Signal())
			delete(running, pid)
			if err := start(s); err != nil {
				return err
			}
		}
	}
}

// start starts a program. Its output is added to a file.
func (n *node) start(s service) (int, error) {
	path, err := exec.LookPath(s.name)
	if err != nil {
		return 0, fmt.Errorf("looking for %s: %w", s.name, err)
	}
	output, err := os.OpenFile(n.file(s.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("creating the log of %s: %w", s.name, err)
	}
	defer func() { _ = output.Close() }() // The program has its own descriptor.
	started, err := os.StartProcess(path, append([]string{path}, s.args...), &os.ProcAttr{
		Dir: n.Dir, Env: os.Environ(), Files: []*os.File{nil, output, output},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", s.name, err)
	}
	pid := started.Pid // Release overwrites it.
	return pid, started.Release()
}

// loadImages loads the images of the tests into the container runtime.
func (n *node) loadImages(ctx context.Context) error {
	err := await("containerd", func() bool { return command(ctx, "ctr", "version") == nil })
	if err != nil {
		return err
	}
	for _, image := range n.Images {
		if err := command(ctx, "ctr", "-n", "k8s.io", "images", "import", image); err != nil {
			return err
		}
	}
	return nil
}
