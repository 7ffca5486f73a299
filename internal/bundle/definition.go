package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// DefinitionJSON writes a bundle as JSON in Fleet's field names, its files as name and
// SHA-256.
func (b Bundle) DefinitionJSON() (string, error) {
	resources := make(map[string]string, len(b.Files))
	for _, file := range b.Files {
		sum := sha256.Sum256(file.Content)
		resources[file.Name] = hex.EncodeToString(sum[:])
	}
	text, err := json.Marshal(struct {
		fleetyaml.Definition

		Name      string            `json:"name"`
		Resources map[string]string `json:"resources"`
	}{Definition: b.Definition, Name: b.Name, Resources: resources})
	if err != nil {
		return "", fmt.Errorf("writing %s as JSON: %w", b.Name, err)
	}
	return string(text), nil
}
