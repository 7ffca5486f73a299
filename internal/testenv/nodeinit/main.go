//go:build linux

// Command nodeinit is the first process in the namespaces of a node. It prepares mounts and network,
// starts the container runtime, the kubelet and the proxy, and starts them again when they end. With
// it, everything in the namespaces ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if len(os.Args) != 2 {
		log.Fatal("usage: nodeinit SETTINGS.json")
	}
	log.Fatal(run(os.Args[1]))
}

// run runs the node. It always returns an error.
func run(path string) error {
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	var n node
	if err := json.Unmarshal(content, &n); err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	if err := unix.Sethostname([]byte(n.Name)); err != nil {
		return fmt.Errorf("setting the name of the node: %w", err)
	}
	if err := os.Setenv("PATH", strings.Join(n.Path, ":")+":"+os.Getenv("PATH")); err != nil {
		return fmt.Errorf("setting PATH: %w", err)
	}
	ctx := context.Background() // The process ends with its namespaces.
	if err := n.mountAll(); err != nil {
		return err
	}
	if err := n.connect(ctx); err != nil {
		return err
	}
	if err := n.writeFiles(); err != nil {
		return err
	}
	return n.serve(ctx)
}

// node contains the settings of a node.
type node struct {
	// Name is that of the node, and Dir its folder.
	Name, Dir string
	// Address is that of the node, and Host that of the machine at the other end of the link. Pods
	// is the network of the pods.
	Address, Host, Pods string
	// Path are the folders of programs, and Plugins that of the network plugins.
	Path    []string
	Plugins string
	// Images are archives of images, and Pause is the image of sandboxes.
	Images []string
	Pause  string
	// Kubeconfig and NodeKubeconfig are those of the proxy and of the kubelet.
	Kubeconfig, NodeKubeconfig string
}

func (n *node) file(name string) string { return filepath.Join(n.Dir, name) }

// command runs a program to its end.
func command(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}

// await returns when a condition is met.
func await(what string, isMet func() bool) error {
	for range 3000 {
		if isMet() {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("waiting for " + what + ": it took more than a minute")
}

// connect sets up the network of the node. The machine moves the other end of the link here.
func (n *node) connect(ctx context.Context) error {
	err := await("the link to the machine", func() bool {
		_, err := os.Stat("/sys/class/net/eth0")
		return err == nil
	})
	if err != nil {
		return err
	}
	for _, args := range []string{
		"link set lo up", "addr add " + n.Address + "/24 dev eth0", "link set eth0 up", "route add default via " + n.Host,
	} {
		if err := command(ctx, "ip", strings.Fields(args)...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600)
}
