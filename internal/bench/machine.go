package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A machine is the computer on which everything ran, contenders and clusters.
type machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	// Memory is in bytes.
	Memory int64  `json:"memory"`
	Kernel string `json:"kernel"`
	// Load is the load average of the minute before the start: other work on the machine.
	Load float64 `json:"load"`
}

func thisMachine(ctx context.Context) machine {
	m := machine{Cores: runtime.NumCPU(), Kernel: runtime.GOOS}
	if release, err := output(ctx, "uname", "-sr"); err == nil {
		m.Kernel = release
	}
	m.readProc()
	return m
}

// describe returns the date, the machine and the versions of a run.
func describe(ctx context.Context, m machine, cluster *testenv.Cluster, cli, command string) (run, error) {
	r := run{Date: time.Now().UTC().Format("2006-01-02 15:04 MST"), Machine: m, Command: command}
	r.Versions = map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go")}
	var err error
	if r.Commit, err = commit(ctx); err != nil {
		return run{}, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cluster.RESTConfig())
	if err != nil {
		return run{}, err
	}
	server, err := client.ServerVersion()
	if err != nil {
		return run{}, fmt.Errorf("asking a cluster for its version: %w", err)
	}
	r.Versions["Kubernetes"] = server.GitVersion
	text, err := output(ctx, cli, "version", "-json")
	if err != nil {
		return run{}, err
	}
	var version struct {
		Terraform string `json:"terraform_version"`
	}
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return run{}, fmt.Errorf("reading the version of the CLI: %w", err)
	}
	name := "Terraform"
	if strings.HasSuffix(cli, "tofu") {
		name = "OpenTofu"
	}
	r.Versions[name] = version.Terraform
	return r, nil
}

// commit returns the commit that is checked out, with a suffix if files differ from it.
func commit(ctx context.Context) (string, error) {
	head, err := output(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := output(ctx, "git", "status", "--porcelain", "--", "*.go", "go.mod")
	if err != nil {
		return "", err
	}
	if changed != "" {
		head += " with changes"
	}
	return head, nil
}

// output returns what a command prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(printed)), nil
}
