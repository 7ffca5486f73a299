// The demo command delivers a git repository to three real clusters with the real Terraform CLI.
// Then it changes the repository, moves a cluster out, removes everything, and checks each step.
// Its exit status is 0 if every check succeeded.
//
//	go run ./examples/demo            # local control planes, no Docker
//	go run ./examples/demo real       # local control planes with real nodes (Linux, root)
//	go run ./examples/demo kind       # three kind clusters
//	go run ./examples/demo contexts   # the first three contexts of KUBECONFIG
//	go run ./examples/demo fleet      # local control planes with a real Rancher Fleet as engine
//	go run ./examples/demo clean      # removes what an interrupted demo left
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The demo runs from the root of the repository and writes into one folder.
const (
	demoDir = "examples/demo"
	workDir = demoDir + "/.demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kind := strings.Join(os.Args[1:], " ")
	if kind == "" {
		kind = "local"
	}
	began := time.Now()
	if err := run(ctx, kind); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
	if kind != "clean" {
		say("All of it was so. It took %s.", time.Since(began).Round(time.Second))
	}
}

func run(ctx context.Context, kind string) (err error) {
	clusters, err := clustersOf(kind)
	if err != nil {
		return err
	}
	if kind == "clean" {
		return os.RemoveAll(workDir)
	}
	if err := os.RemoveAll(workDir); err != nil {
		return err
	}
	work, err := filepath.Abs(workDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o750); err != nil {
		return err
	}
	say("Bringing up three Kubernetes clusters (%s).", kind)
	kubeconfig, contexts, err := clusters.up(ctx, work)
	// Clusters are always stopped, also after Ctrl-C.
	defer func() { err = errors.Join(err, clusters.down(context.WithoutCancel(ctx)), os.RemoveAll(work)) }()
	if err != nil {
		return fmt.Errorf("bringing up clusters: %w", err)
	}
	story, err := newStory(ctx, work, kubeconfig, contexts, engineOf(clusters))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, story.close()) }()
	if kind == realKind {
		if err := story.serve(); err != nil {
			return err
		}
	}
	return story.tell(ctx)
}

// say prints what happens next.
func say(format string, args ...any) {
	fmt.Printf("\n\033[1m==> "+format+"\033[0m\n", args...)
}
