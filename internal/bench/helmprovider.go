package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	helmProviderAddress = "registry.terraform.io/hashicorp/helm"
	// helmProviderVariable is the environment variable with the path of the binary.
	helmProviderVariable = "HELM_PROVIDER_BIN"
)

// helmProvider is terraform-provider-helm, with one alias for each cluster.
type helmProvider struct {
	terraform terraform
	// nested is true since major version 3, in which blocks became attributes.
	nested bool
}

func (helmProvider) name() string { return "helm-provider" }

func (helmProvider) waits(t task) bool { return t.wait }

// newHelmProvider puts the binary into a folder of its own, where the CLI finds it under any name.
func newHelmProvider(ctx context.Context, cli, binary, dir string) (helmProvider, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return helmProvider{}, err
	}
	if _, err := os.Stat(binary); err != nil {
		return helmProvider{}, fmt.Errorf("looking for the binary that %s names: %w", helmProviderVariable, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return helmProvider{}, fmt.Errorf("making a folder for terraform-provider-helm: %w", err)
	}
	link := filepath.Join(dir, "terraform-provider-helm")
	if err := os.Symlink(binary, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return helmProvider{}, fmt.Errorf("linking terraform-provider-helm: %w", err)
	}
	h := helmProvider{terraform: terraform{cli: cli, address: helmProviderAddress, bin: dir}}
	h.nested, err = h.hasNestedKubernetes(ctx, task{dir: filepath.Join(dir, "schema")})
	return h, err
}

// hasNestedKubernetes reads the provider's schema.
func (h helmProvider) hasNestedKubernetes(ctx context.Context, t task) (bool, error) {
	// The commands of a step have the settings and the environment.
	prepared, err := h.terraform.commands(t, nothing, requireProvider("helm", helmProviderAddress), nil)
	if err != nil {
		return false, err
	}
	ask := exec.CommandContext(ctx, h.terraform.cli, "providers", "schema", "-json")
	ask.Dir, ask.Env = prepared[0].dir, prepared[0].env
	var stderr bytes.Buffer
	ask.Stderr = &stderr
	output, err := ask.Output()
	if err != nil {
		return false, fmt.Errorf("asking for the schema of terraform-provider-helm: %w\n%s", err, &stderr)
	}
	var schemas struct {
		Providers map[string]struct {
			Provider struct {
				Block struct {
					Attributes map[string]json.RawMessage `json:"attributes"`
					BlockTypes map[string]json.RawMessage `json:"block_types"`
				} `json:"block"`
			} `json:"provider"`
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(output, &schemas); err != nil {
		return false, fmt.Errorf("reading the schema of terraform-provider-helm: %w", err)
	}
	block := schemas.Providers[helmProviderAddress].Provider.Block
	_, attribute := block.Attributes["kubernetes"]
	_, blockType := block.BlockTypes["kubernetes"]
	if !attribute && !blockType {
		return false, errors.New("terraform-provider-helm has no setting kubernetes")
	}
	return attribute, nil
}

func (h helmProvider) commands(_ context.Context, t task, s step) ([]command, error) {
	if s == install {
		if err := t.work.writeCharts(t.charts(), t.namespace, s.value()); err != nil {
			return nil, err
		}
	}
	targets := s.targets(t.contexts)
	if s == destroy {
		targets = t.contexts
	}
	return h.terraform.commands(t, s, helmProviderConfiguration(t, h.nested), map[string]any{"value": s.value(), "targets": targets})
}

func helmProviderConfiguration(t task, nested bool) string {
	kubernetes, set := "kubernetes {", "set {\n    name  = \"value\"\n    value = var.value\n  }"
	if nested {
		kubernetes, set = "kubernetes = {", "set = [{ name = \"value\", value = var.value }]"
	}
	var text strings.Builder
	text.WriteString(requireProvider("helm", helmProviderAddress))
	fmt.Fprintf(&text, "\nvariable \"value\" { type = string }\nvariable \"targets\" { type = list(string) }\n")
	for i, name := range t.contexts {
		fmt.Fprintf(&text, `
provider "helm" {
  alias = "c%[9]d"
  %[2]s
    config_path    = %[3]q
    config_context = %[1]q
  }
}

resource "helm_release" "c%[9]d" {
  provider         = helm.c%[9]d
  for_each         = contains(var.targets, %[1]q) ? toset(%[4]s) : toset([])
  name             = each.key
  chart            = "%[5]s/${each.key}"
  namespace        = %[6]q
  create_namespace = true
  wait             = %[7]t
  %[8]s
}
`, name, kubernetes, t.kubeconfig, quoted(t.work.names()), t.charts(), t.namespace, t.wait, set, i+1)
	}
	return text.String()
}

// version returns the version from the binary, else from its file name, else from the environment.
func (h helmProvider) version() string {
	path, err := filepath.EvalSymlinks(filepath.Join(h.terraform.bin, "terraform-provider-helm"))
	if err != nil {
		return ""
	}
	if info, err := buildinfo.ReadFile(path); err == nil && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	// The registry's binaries are called terraform-provider-helm_v3.1.2_x5.
	for part := range strings.SplitSeq(filepath.Base(path), "_") {
		if strings.HasPrefix(part, "v") {
			return part
		}
	}
	return os.Getenv("HELM_PROVIDER_VERSION")
}
