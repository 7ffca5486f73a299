package provider

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// addDrift tells what live objects differ from what was deployed, one warning for what
// is put right and one for what is only told, and which kinds could not be looked at.
// What reads alike on many clusters is told once.
func addDrift(diags *diag.Diagnostics, name string, observation deploy.Observation) {
	var corrected, told, refused byText
	for _, key := range slices.SortedFunc(maps.Keys(observation.Findings), compareKeys) {
		finding := observation.Findings[key]
		for _, kind := range status.RefusedKinds(finding) {
			refused.add(kind, key.Cluster)
		}
		lines := status.Drift(finding)
		if len(lines) == 0 {
			continue
		}
		text := "\n  - " + strings.Join(lines, "\n  - ")
		if isCorrected(finding, observation.Records[key].Rules) {
			corrected.add(text, key.String())
			continue
		}
		told.add(text, key.String())
	}
	if len(corrected.texts) > 0 {
		diags.AddWarning("Target "+name+": live objects are not as they were deployed",
			corrected.String()+"\n\nApplying puts this right. Set correctDrift.enabled to false in the bundle to be told only, "+
				"or leave out with diff.comparePatches what others may change.")
	}
	if len(told.texts) > 0 {
		diags.AddWarning("Target "+name+": live objects are not as they were deployed, and stay so",
			told.String()+"\n\nNothing is done: the bundle has correctDrift.enabled set to false, or another release holds the objects.")
	}
	if len(refused.texts) > 0 {
		diags.AddWarning("Target "+name+": not all live objects can be looked at",
			"The clusters refuse to show objects of these kinds:"+refused.list()+
				"\n\nFor them, only release records are compared. Grant get and list on these kinds, or set drift = \"release\" on the target.")
	}
}

// isCorrected says whether an apply changes anything about a finding.
func isCorrected(finding release.Finding, rules release.Rules) bool {
	return status.CountsOf(finding).Drifted() && !rules.ReportOnly
}

// byText groups what it concerns by what is to be told.
type byText struct {
	texts []string
	of    map[string][]string
}

func (b *byText) add(text, concerns string) {
	if b.of == nil {
		b.of = map[string][]string{}
	}
	if _, known := b.of[text]; !known {
		b.texts = append(b.texts, text)
	}
	if !slices.Contains(b.of[text], concerns) {
		b.of[text] = append(b.of[text], concerns)
	}
}

// String is one paragraph for each text.
func (b *byText) String() string {
	paragraphs := make([]string, len(b.texts))
	for i, text := range b.texts {
		paragraphs[i] = strings.Join(b.of[text], ", ") + ":" + text
	}
	return strings.Join(paragraphs, "\n\n")
}

// list is one line for each text.
func (b *byText) list() string {
	var lines strings.Builder
	for _, text := range b.texts {
		fmt.Fprintf(&lines, "\n  - %s: on %s", text, strings.Join(b.of[text], ", "))
	}
	return lines.String()
}

func compareKeys(a, b deploy.Key) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle))
}
