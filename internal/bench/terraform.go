package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// terraform runs a configuration with one provider from a folder.
type terraform struct {
	cli string
	// address is the provider's address with its registry, so that every CLI uses the same
	// provider.
	address string
	// bin is the folder with the provider.
	bin string
}

// commands writes a configuration with its variables and returns the command of the step.
func (tf terraform) commands(t task, s step, configuration string, variables map[string]any) ([]command, error) {
	dir := filepath.Join(t.dir, "terraform")
	settings := filepath.Join(dir, "terraformrc")
	values, err := json.Marshal(variables)
	if err != nil {
		return nil, fmt.Errorf("encoding variables: %w", err)
	}
	err = writeFiles(dir, map[string]string{
		"main.tf":               configuration,
		"terraform.tfvars.json": string(values),
		"terraformrc":           fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", tf.address, tf.bin),
	})
	if err != nil {
		return nil, err
	}
	home, err := t.makeHome()
	if err != nil {
		return nil, err
	}
	args := append([]string{tf.cli}, terraformArguments(s)...)
	return []command{{args: append(args, "-no-color", "-input=false"), dir: dir, env: environment(home, "TF_CLI_CONFIG_FILE="+settings)}}, nil
}

func terraformArguments(s step) []string {
	switch s {
	case nothing:
		return []string{"plan", "-detailed-exitcode"} // The plan fails if there are changes.
	case destroy:
		return []string{"destroy", "-auto-approve"}
	case install, change, remove, restore:
	}
	return []string{"apply", "-auto-approve"}
}

// requireProvider returns the head of a configuration.
func requireProvider(name, address string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %q }\n  }\n}\n", name, address)
}

// quoted returns a list of strings in HCL.
func quoted(list []string) string {
	quotes := make([]string, len(list))
	for i, item := range list {
		quotes[i] = fmt.Sprintf("%q", item)
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}
