package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	helmProviderAddress = "registry.terraform.io/hashicorp/helm"
	// helmProviderVariable is the environment variable with the path of the binary.
	helmProviderVariable = "HELM_PROVIDER_BIN"
)

// helmProvider is terraform-provider-helm, with one alias for each cluster. The configuration is for
// its major version 3, in which blocks became attributes.
type helmProvider struct{ terraform terraform }

func (helmProvider) name() string { return "helm-provider" }

func (helmProvider) waits(t task) bool { return t.wait }

// newHelmProvider puts the binary into a folder of its own, where the CLI finds it under any name.
func newHelmProvider(cli, binary, dir string) (helmProvider, error) {
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
	return helmProvider{terraform: terraform{cli: cli, address: helmProviderAddress, bin: dir}}, nil
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
	return h.terraform.commands(t, s, helmProviderConfiguration(t), map[string]any{"value": s.value(), "targets": targets})
}

func helmProviderConfiguration(t task) string {
	var text strings.Builder
	text.WriteString(requireProvider("helm", helmProviderAddress))
	fmt.Fprintf(&text, "\nvariable \"value\" { type = string }\nvariable \"targets\" { type = list(string) }\n")
	for i, name := range t.contexts {
		fmt.Fprintf(&text, `
provider "helm" {
  alias = "c%[7]d"
  kubernetes = {
    config_path    = %[2]q
    config_context = %[1]q
  }
}

resource "helm_release" "c%[7]d" {
  provider         = helm.c%[7]d
  for_each         = contains(var.targets, %[1]q) ? toset(%[3]s) : toset([])
  name             = each.key
  chart            = "%[4]s/${each.key}"
  namespace        = %[5]q
  create_namespace = true
  wait             = %[6]t
  set              = [{ name = "value", value = var.value }]
}
`, name, t.kubeconfig, quoted(t.work.names()), t.charts(), t.namespace, t.wait, i+1)
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
