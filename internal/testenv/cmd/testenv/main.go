// Command testenv builds and runs the Kubernetes clusters of package testenv for make and the demo, and
// a real Fleet on them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const usage = `usage: go run ./internal/testenv/cmd/testenv COMMAND

  build [--fleet] [--nodes] build the programs of the control planes, unless they are there, with
                            --fleet those of Rancher Fleet, and with --nodes those of real nodes
  up [--clusters N] [--fleet] [--nodes] [--dir DIR]
                            run N clusters (3) until interrupted or, if standard input is a pipe,
                            until it closes; write DIR/kubeconfig, then print one line; with --fleet
                            also a management cluster, mgmt, with a real Fleet that delivers to them;
                            with --nodes on real nodes, whose pods run (Linux, root)
  images [--dir DIR]        write the images that tests use into DIR, as archives for "kind load
                            image-archive", and print their paths (Linux)
  kind-programs --dir DIR   link what a node image of kind contains into DIR, a new folder, and print
                            the version of Kubernetes (Linux, root)
  cli                       print the path of the Terraform CLI to use, building OpenTofu if need be
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	switch args[0] {
	case "build":
		return build(ctx, args[1:])
	case "up":
		return up(ctx, args[1:])
	case "images":
		return images(ctx, args[1:])
	case "kind-programs":
		return kindPrograms(ctx, args[1:])
	case "cli":
		path, err := testenv.TerraformCLI(ctx, log)
		if err != nil {
			return err
		}
		fmt.Println(path)
		return nil
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
}

func build(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	fleet := flags.Bool("fleet", false, "build Rancher Fleet too")
	nodes := flags.Bool("nodes", false, "build the programs of real nodes too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := testenv.Build(ctx, log); err != nil {
		return err
	}
	if *nodes {
		if err := testenv.BuildNodes(ctx, log); err != nil {
			return err
		}
	}
	if !*fleet {
		return nil
	}
	_, err := testenv.BuildFleet(ctx, log)
	return err
}

func images(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	dir := flags.String("dir", ".", "`folder` for the archives")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o750); err != nil {
		return err
	}
	paths, err := testenv.WriteImages(ctx, *dir, log)
	for _, path := range paths {
		fmt.Println(path)
	}
	return err
}

func kindPrograms(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kind-programs", flag.ContinueOnError)
	dir := flags.String("dir", "programs", "`folder` for the links")
	if err := flags.Parse(args); err != nil {
		return err
	}
	version, err := testenv.LinkKindPrograms(ctx, *dir, log)
	if err != nil {
		return err
	}
	fmt.Println(version)
	return nil
}

func up(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	clusters := flags.Int("clusters", 3, "how many `clusters` to run")
	fleet := flags.Bool("fleet", false, "run Rancher Fleet too, on a management cluster of its own")
	nodes := flags.Bool("nodes", false, "run real nodes, whose pods run")
	dir := flags.String("dir", ".", "`folder` for the kubeconfig and, while the clusters run, their data")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o750); err != nil {
		return err
	}
	kubeconfig := filepath.Join(*dir, "kubeconfig")
	// A kubeconfig that a killed run left would look like one of this run.
	if err := os.RemoveAll(kubeconfig); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go cancelWhenClosed(os.Stdin, cancel)

	start := func(ctx context.Context, clusters int, dir string) (environment, error) {
		return testenv.Start(ctx, testenv.Options{Clusters: clusters, Nodes: *nodes, Parent: dir, Log: log})
	}
	if *fleet {
		start = startFleet
	}
	env, err := start(ctx, *clusters, *dir)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, env.Stop(context.WithoutCancel(ctx)), os.RemoveAll(kubeconfig))
	}()
	if err := copyFile(env.Kubeconfig(), kubeconfig); err != nil {
		return err
	}
	fmt.Printf("ready: %d clusters, kubeconfig %s, contexts %v\n", len(env.Contexts()), kubeconfig, env.Contexts())
	<-ctx.Done()
	return nil
}

// An environment is a set of clusters, with or without Fleet.
type environment interface {
	Kubeconfig() string
	Contexts() []string
	Stop(ctx context.Context) error
}

// startFleet gives its clusters the same labels as the clusters of tests: the first is env=dev.
func startFleet(ctx context.Context, clusters int, dir string) (environment, error) {
	options := testenv.FleetOptions{Parent: dir, Log: log}
	for i := range clusters {
		env := "prod"
		if i == 0 {
			env = "dev"
		}
		options.Clusters = append(options.Clusters, testenv.FleetCluster{
			Name:   "c" + strconv.Itoa(i+1),
			Labels: map[string]string{"env": env},
		})
	}
	return testenv.StartFleet(ctx, options)
}

// cancelWhenClosed ends the clusters when the process that started this one has ended, even by a
// kill. Only the end of a pipe shows that: a terminal does not, and the shell gives background jobs
// /dev/null.
func cancelWhenClosed(stdin *os.File, cancel func()) {
	info, err := stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	if _, err := io.Copy(io.Discard, stdin); err == nil {
		cancel()
	}
}

// copyFile writes the file in one step, so that a process that waits for the file never reads half
// of it.
func copyFile(from, to string) error {
	content, err := os.ReadFile(filepath.Clean(from))
	if err != nil {
		return err
	}
	unfinished := to + ".unfinished"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, to)
}

func log(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "testenv: "+format+"\n", args...)
}
