package acceptance_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// commandOutput is the JSON output of a command of the CLI, by the name of the resource.
type commandOutput struct {
	output string
	failed bool
	// errors and warnings are texts of diagnostics; those of no resource are under "".
	errors, warnings map[string][]string
	// changes are the planned changes, and drift is the drift that a plan found.
	changes, drift map[string]string
}

// stream runs a command and reads its JSON output.
func (w *workspace) stream(t *testing.T, command string, args ...string) commandOutput {
	t.Helper()
	began := time.Now()
	output, err := w.try(t, append([]string{command, "-json"}, args...)...)
	t.Logf("terraform %s: %s", command, time.Since(began).Round(time.Second/10))
	said := commandOutput{
		output: output, failed: err != nil, errors: map[string][]string{}, warnings: map[string][]string{},
		changes: map[string]string{}, drift: map[string]string{},
	}
	for line := range strings.Lines(output) {
		var message struct {
			Type       string `json:"type"`
			Diagnostic struct {
				Severity string `json:"severity"`
				Summary  string `json:"summary"`
				Detail   string `json:"detail"`
				Address  string `json:"address"`
			} `json:"diagnostic"`
			Change struct {
				Action   string `json:"action"`
				Resource struct {
					Addr string `json:"addr"`
				} `json:"resource"`
			} `json:"change"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			continue // A line of a provider that crashed; the crash is an error later.
		}
		diagnostic, about := message.Diagnostic, resourceName(message.Diagnostic.Address)
		text := unwrapped(diagnostic.Summary + ": " + diagnostic.Detail)
		if name, _, found := strings.Cut(strings.TrimPrefix(diagnostic.Summary, "Target "), ":"); about == "" && found {
			about = name // Terraform does not name a destroyed resource.
		}
		switch {
		case message.Type == "diagnostic" && diagnostic.Severity == "error":
			said.errors[about] = append(said.errors[about], text)
		case message.Type == "diagnostic":
			said.warnings[about] = append(said.warnings[about], text)
		case message.Type == "planned_change":
			said.changes[resourceName(message.Change.Resource.Addr)] = message.Change.Resource.Addr + " would be changed: " + message.Change.Action
		case message.Type == "resource_drift":
			said.drift[resourceName(message.Change.Resource.Addr)] = message.Change.Resource.Addr + " has changed: " + message.Change.Action
		}
	}
	return said
}

// resourceName is the last part of an address. All resources of a row have the name of the row.
func resourceName(address string) string { return address[strings.LastIndex(address, ".")+1:] }

// plannedTarget is a target as a plan shows it.
type plannedTarget struct {
	actions []string
	// unknown are the elements of objects that are known after the apply.
	unknown map[string]bool
	targetShown
}

// planned reads the targets of a saved plan, by name.
func (w *workspace) planned(t *testing.T, plan string) map[string]plannedTarget {
	t.Helper()
	var read struct {
		ResourceChanges []struct {
			Type   string `json:"type"`
			Name   string `json:"name"`
			Change struct {
				Actions      []string        `json:"actions"`
				After        targetShown     `json:"after"`
				AfterUnknown json.RawMessage `json:"after_unknown"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	shown := w.run(t, "show", "-json", plan)
	if err := json.NewDecoder(strings.NewReader(shown)).Decode(&read); err != nil {
		t.Fatalf("reading the plan: %v", err)
	}
	targets := map[string]plannedTarget{}
	for _, resource := range read.ResourceChanges {
		if resource.Type == "fleet_cluster_target" {
			targets[resource.Name] = plannedTarget{
				actions: resource.Change.Actions, targetShown: resource.Change.After,
				unknown: unknownElements(t, resource.Change.AfterUnknown, "objects", resource.Change.After.Deployments),
			}
		}
	}
	return targets
}

// inState reads the targets of the state, by name.
func (w *workspace) inState(t *testing.T) map[string]targetShown {
	t.Helper()
	targets := map[string]targetShown{}
	for _, stored := range w.storedTargets(t) {
		var shown targetShown
		if err := json.Unmarshal(stored.attributes, &shown); err != nil {
			t.Fatalf("reading the target %s: %v", stored.name, err)
		}
		targets[stored.name] = shown
	}
	return targets
}
