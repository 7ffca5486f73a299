package target

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// HasWriteOnlyFiles reports whether a deployment has manifests in its write-only input.
func (d Deployment) HasWriteOnlyFiles() bool {
	return d.WriteOnly != nil && len(d.WriteOnly.Content.Reveal().Files) > 0
}

// HasSecretValues reports whether a deployment has decrypted or write-only values.
func (d Deployment) HasSecretValues() bool {
	return d.Bundle.HasDecryptedValues() || d.WriteOnly != nil && len(d.WriteOnly.Content.Reveal().Values) > 0
}

// PlainValues returns the decrypted values of a deployment, as a copy that Helm may change. Write-only
// values are merged last: they override values from the cluster, too.
func (d Deployment) PlainValues() map[string]any {
	values := d.Bundle.PlainValues(d.HelmOptions().Values)
	if d.WriteOnly != nil {
		values = fleetyaml.MergeValues(values, d.WriteOnly.Content.Reveal().Values)
	}
	return fleetyaml.CopyValues(values)
}

// HasSecretContent reports whether a deployment has decrypted files or write-only input with its
// content.
func (d Deployment) HasSecretContent() bool {
	if d.isDecrypted() {
		return true
	}
	if d.WriteOnly == nil {
		return false
	}
	content := d.WriteOnly.Content.Reveal()
	return content.Values != nil || slices.ContainsFunc(content.Files, func(f bundle.File) bool { return f.Content != nil })
}

// ReadsSecrets reports whether values of a deployment come from Secrets on the cluster.
func (d Deployment) ReadsSecrets() bool {
	return slices.ContainsFunc(d.ValuesFrom(), func(s Source) bool { return s.Kind == Secret })
}

// HidesContent reports whether the objects of a deployment can contain secret values: from the
// cluster, from write-only input or from an encrypted file.
func (d Deployment) HidesContent() bool { return d.LacksContent() || d.isDecrypted() }

func (d Deployment) isDecrypted() bool { return d.Bundle != nil && d.Bundle.HasSecrets() }

// LacksContent reports whether a deployment is made from more than its digest covers: values from
// the cluster, or write-only values.
func (d Deployment) LacksContent() bool { return d.WriteOnly != nil || len(d.ValuesFrom()) > 0 }

// SecretTexts returns the texts of a deployment that must not be printed: the texts of its
// write-only input and the decrypted texts of its bundle.
func (d Deployment) SecretTexts() []string {
	var texts []string
	if d.isDecrypted() {
		texts = d.Bundle.Decrypted.Reveal().Texts
	}
	if d.WriteOnly == nil {
		return texts
	}
	found := map[string]bool{}
	content := d.WriteOnly.Content.Reveal()
	addLeaves(found, content.Values)
	for _, file := range content.Files {
		addManifests(found, string(file.Content))
	}
	return append(slices.Sorted(maps.Keys(found)), texts...)
}

// Mask hides the secret texts of a deployment in another text.
func (d Deployment) Mask(text string) string {
	texts := d.SecretTexts()
	if len(texts) == 0 {
		return text
	}
	masker := &mask.Masker{}
	masker.AddTexts(texts...)
	return masker.Text(text)
}

// MaskError returns an error without the secret texts of a deployment.
func (d Deployment) MaskError(err error) error {
	if err == nil {
		return nil
	}
	return mask.WithText(err, d.Mask(err.Error()))
}

// addManifests adds the leaves of each object, except those that name the object or its type. A
// file that is no YAML is added as one text.
func addManifests(found map[string]bool, content string) {
	for document := range strings.SplitSeq("\n"+content, "\n---") {
		var object map[string]any
		if yaml.Unmarshal([]byte(document), &object) != nil {
			addText(found, document)
			continue
		}
		for field, value := range object {
			switch field {
			case "apiVersion", "kind", "metadata", "type", "immutable":
			default:
				addLeaves(found, value)
			}
		}
	}
}

func addLeaves(found map[string]bool, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			addLeaves(found, item)
		}
	case []any:
		for _, item := range value {
			addLeaves(found, item)
		}
	case string:
		addText(found, value)
	case float64:
		addText(found, strconv.FormatFloat(value, 'f', -1, 64))
		addText(found, fmt.Sprint(value)) // As templates write it.
	}
}

func addText(found map[string]bool, text string) {
	if text = strings.TrimSpace(text); text != "" {
		found[text] = true
	}
}
