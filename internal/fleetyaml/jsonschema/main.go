// Command jsonschema writes the JSON schema of a fleet.yaml, by which editors complete keys and report
// misspelt ones:
//
//	jsonschema FIELDS SCHEMA
//
// FIELDS is internal/fleetfields/fields.yaml, which describes the keys. Their types are those that package
// fleetyaml reads.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: jsonschema FIELDS SCHEMA")
	}
	described, err := readFields(args[0])
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(definition(described), "", "  ")
	if err != nil {
		return fmt.Errorf("writing the schema as JSON: %w", err)
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644) //nolint:gosec // A schema is for everybody.
}

// fields are the rows of fields.yaml about a fleet.yaml, by the path of a key.
type fields struct {
	// root are those of the file, entry those of targets and targetCustomizations, and override those of
	// overrideTargets.
	root, entry, override map[string]behaviour
}

type behaviour struct {
	Here string `json:"here"`
	Says string `json:"says"`
}

func readFields(file string) (fields, error) {
	text, err := os.ReadFile(file) //nolint:gosec // The table of the repository.
	if err != nil {
		return fields{}, err
	}
	var table struct {
		Sections []struct {
			Type string `json:"type"`
			Rows []struct {
				Fields []string `json:"fields"`
				behaviour
				Custom *behaviour `json:"custom"`
			} `json:"rows"`
		} `json:"sections"`
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		return fields{}, fmt.Errorf("reading %s: %w", file, err)
	}
	read := fields{root: map[string]behaviour{}, entry: map[string]behaviour{}, override: map[string]behaviour{}}
	places := map[string][]map[string]behaviour{
		"FleetYAML": {read.root}, "BundleDeploymentOptions": {read.root}, "BundleTarget": {read.entry}, "GitTarget": {read.override},
	}
	for _, section := range table.Sections {
		for _, row := range section.Rows {
			for _, field := range row.Fields {
				for _, place := range places[section.Type] {
					place[field] = row.behaviour
				}
				if row.Custom != nil && section.Type == "BundleDeploymentOptions" {
					read.entry[field] = *row.Custom
				}
			}
		}
	}
	return read, nil
}
