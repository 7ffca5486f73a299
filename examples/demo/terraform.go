package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// terraform runs the real CLI with the provider from ./bin and without any
// registry.
type terraform struct {
	cli string
	dir string
	env []string
}

// newTerraform reads the provider block from a folder.
func newTerraform(ctx context.Context, work, provider string) (*terraform, error) {
	cli, err := testenv.TerraformCLI(ctx, func(format string, args ...any) { fmt.Printf("    "+format+"\n", args...) })
	if err != nil {
		return nil, err
	}
	bin, err := filepath.Abs("bin")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(bin, "terraform-provider-fleet")); err != nil {
		return nil, fmt.Errorf("the provider is not built (make build): %w", err)
	}
	// Terraform and OpenTofu use different hosts in the address of the provider.
	config := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n    %q = %q\n  }\n  direct {}\n}\n",
		"registry.terraform.io/agentless-fleet/fleet", bin, "registry.opentofu.org/agentless-fleet/fleet", bin)
	configPath := filepath.Join(work, "terraformrc")
	if err := os.WriteFile(configPath, []byte(config), 0o600); err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "terraform")
	if err := os.CopyFS(filepath.Join(dir, "banner"), os.DirFS(filepath.Join(demoDir, "banner"))); err != nil {
		return nil, err
	}
	for _, source := range []string{"main.tf", filepath.Join(provider, "provider.tf")} {
		content, err := os.ReadFile(filepath.Join(demoDir, source))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(source)), content, 0o600); err != nil {
			return nil, err
		}
	}
	env := append(os.Environ(), "TF_CLI_CONFIG_FILE="+configPath, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	return &terraform{cli: cli, dir: dir, env: env}, nil
}

// vars sets variables for every further run.
func (t *terraform) vars(values map[string]any) error {
	for name, value := range values {
		encoded, err := json.Marshal(value)
		if err != nil {
			return err
		}
		text := string(encoded)
		if plain, ok := value.(string); ok {
			text = plain
		}
		t.env = append(t.env, "TF_VAR_"+name+"="+text)
	}
	return nil
}

// show runs a command and shows its output to the reader.
func (t *terraform) show(ctx context.Context, args ...string) error {
	return t.showTo(ctx, os.Stdout, args...)
}

// plan saves a plan, shows it to the reader, and counts its lines.
func (t *terraform) plan(ctx context.Context, file string) (lines int, err error) {
	var output bytes.Buffer
	if err := t.showTo(ctx, io.MultiWriter(os.Stdout, &output), "plan", "-no-color", "-out="+file); err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(output.String(), "Terraform will perform the following actions:\n")
	text, _, _ = strings.Cut(text, "Saved the plan to:")
	text = sourceLines.ReplaceAllString(text, "")
	return strings.Count(strings.Trim(text, "\n─ "), "\n") + 1, nil
}

// sourceLines are the lines in which Terraform quotes the configuration that a warning is about.
var sourceLines = regexp.MustCompile(`(?m)^ +on (main|provider)\.tf line \d+, in .*\n +\d+: .*\n`)

func (t *terraform) showTo(ctx context.Context, stdout io.Writer, args ...string) error {
	fmt.Printf("\n$ terraform %s\n", strings.Join(args, " "))
	command := exec.CommandContext(ctx, t.cli, args...)
	command.Dir, command.Env = t.dir, t.env
	command.Stdout, command.Stderr = indented{stdout}, indented{os.Stderr}
	if err := command.Run(); err != nil {
		return fmt.Errorf("terraform %s: %w", args[0], err)
	}
	return nil
}

// emptyPlan reports whether a plan has no changes.
func (t *terraform) emptyPlan(ctx context.Context) (bool, error) {
	err := t.show(ctx, "plan", "-detailed-exitcode")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return false, nil
	}
	return err == nil, err
}

// changes reads a saved plan: which deployments are added (+), changed (~) and
// removed (-), sorted.
func (t *terraform) changes(ctx context.Context, file string) ([]string, error) {
	command := exec.CommandContext(ctx, t.cli, "show", "-json", file)
	command.Dir, command.Env = t.dir, t.env
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	type deployments struct {
		Deployments map[string]string `json:"deployments"`
	}
	var plan struct {
		ResourceChanges []struct {
			Type   string `json:"type"`
			Change struct {
				Before deployments `json:"before"`
				After  deployments `json:"after"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(output, &plan); err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	var lines []string
	for _, resource := range plan.ResourceChanges {
		if resource.Type != "fleet_cluster_target" {
			continue
		}
		before, after := resource.Change.Before.Deployments, resource.Change.After.Deployments
		for key, deployment := range after {
			switch previous, had := before[key]; {
			case !had:
				lines = append(lines, "+ "+key)
			case previous != deployment:
				lines = append(lines, "~ "+key)
			}
		}
		for key := range before {
			if _, stays := after[key]; !stays {
				lines = append(lines, "- "+key)
			}
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// indented indents lines, to distinguish them from the messages of the demo.
type indented struct{ to io.Writer }

func (w indented) Write(text []byte) (int, error) {
	lines := strings.SplitAfter(string(text), "\n")
	for _, line := range lines {
		if line == "" {
			continue
		}
		if _, err := io.WriteString(w.to, "    "+line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
