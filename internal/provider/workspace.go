package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// workspace tells the workspace that this process works for from others. Terraform
// does not say which it is, and a create knows nothing of the create before it that
// was killed, or of the target that it replaces before that is destroyed. What both
// have in common is the place where their state is kept, and two workspaces never
// have that in common. It is "" when the place cannot be told, which counts as
// different from any other.
//
// The answer is a hash. It serves as a hint only in favour of what is there: an equal
// one lets a create take up what carries the target's names, a different one makes it
// refuse.
func workspace() string {
	place, err := statePlace(os.Getenv)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(place, "\n")))
	return hex.EncodeToString(sum[:16])
}

// statePlace names where the state is kept: by HCP Terraform's name of the workspace,
// else by what locates a backend, else by the working directory.
func statePlace(env func(string) string) ([]string, error) {
	if slug := env("TFC_WORKSPACE_SLUG"); slug != "" {
		return []string{"hcp", slug}, nil
	}
	data := env("TF_DATA_DIR")
	if data == "" {
		data = ".terraform"
	}
	name := env("TF_WORKSPACE")
	if name == "" {
		// What `workspace select` writes. Without it the default workspace is meant.
		selected, err := os.ReadFile(filepath.Join(data, "environment")) //nolint:gosec // the CLI's own folder
		if err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("reading which workspace is selected: %w", err)
		}
		name = strings.TrimSpace(string(selected))
	}
	if name == "default" {
		name = ""
	}
	located, err := locateBackend(filepath.Join(data, "terraform.tfstate"))
	if err != nil {
		return nil, err
	}
	if len(located) > 0 {
		return append(located, name), nil
	}
	directory, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working directory: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(directory); err == nil {
		directory = resolved
	}
	return []string{"local", directory, name}, nil
}

// locateBackend reads what `init` noted of the backend: its kind and the settings that
// say where it keeps states, none of which is a credential. nil means that states lie
// in the working directory.
func locateBackend(path string) ([]string, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the CLI's own folder
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading where the state is kept: %w", err)
	}
	var noted struct {
		Backend struct {
			Type   string         `json:"type"`
			Config map[string]any `json:"config"`
		} `json:"backend"`
	}
	if err := json.Unmarshal(raw, &noted); err != nil {
		return nil, fmt.Errorf("reading where the state is kept: %w", err)
	}
	if noted.Backend.Type == "" || noted.Backend.Type == "local" {
		return nil, nil
	}
	located := []string{noted.Backend.Type}
	for _, setting := range []string{
		"address", "bucket", "container_name", "hostname", "key", "namespace", "organization", "path", "prefix",
		"resource_group_name", "schema_name", "secret_suffix", "storage_account_name", "workspace_key_prefix", "workspaces",
	} {
		value := noted.Backend.Config[setting]
		if value == nil {
			continue
		}
		if address, ok := value.(string); ok {
			value = withoutUser(address)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("reading where the state is kept: %w", err)
		}
		located = append(located, setting+"="+string(text))
	}
	return slices.Clip(located), nil
}

// withoutUser takes a user and password out of an address.
func withoutUser(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.User == nil {
		return address
	}
	parsed.User = nil
	return parsed.String()
}
