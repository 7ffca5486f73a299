package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// DefinitionState is the result of comparing a custom resource definition below crds/ of a chart
// with the cluster.
type DefinitionState int

// The states of definitions.
const (
	// DefinitionSame needs no write.
	DefinitionSame DefinitionState = iota
	// DefinitionMissing is not on the cluster.
	DefinitionMissing
	// DefinitionDiffers is on the cluster with other content.
	DefinitionDiffers
	// DefinitionForeign differs and belongs to another release.
	DefinitionForeign
)

// Definition is a custom resource definition below crds/ of a chart that is to be deployed.
type Definition struct {
	Cluster, Bundle, Name string
	State                 DefinitionState
	// Owner is the release that a foreign definition belongs to.
	Owner string
	// Policy is helm.crds of the deployment. Installed is true if it already has a release.
	Policy    string
	Installed bool
}

// heading describes what an apply does with a definition. It is "" if there is nothing to report.
func (d Definition) heading() string {
	replaces := d.Policy == fleetyaml.CRDsCreateReplace
	switch d.State {
	case DefinitionMissing:
		if replaces {
			return "Created"
		}
		if d.Installed {
			return "Not created, because Helm creates definitions only when it installs a release"
		}
	case DefinitionDiffers:
		if replaces {
			return "Replaced, because the cluster has another version"
		}
		return "Not replaced, although the cluster has another version"
	case DefinitionForeign:
		if replaces {
			return "Not replaced, because another release owns them; these deployments will fail"
		}
		return "Not replaced, although the cluster has another version"
	case DefinitionSame:
	}
	return ""
}

func (d Definition) line() string {
	if d.State == DefinitionForeign && d.Policy == fleetyaml.CRDsCreateReplace {
		return fmt.Sprintf("%s, of release %s", d.Name, d.Owner)
	}
	return d.Name
}

// DefinitionsText describes what an apply does with definitions. Definitions that are the same on
// many clusters are listed once. The text is "" if there is nothing to report. ignored is true if
// some definitions are not applied.
func DefinitionsText(found []Definition) (text string, ignored bool) {
	lines := map[string]map[string][]string{} // Deployments by heading and line.
	for _, definition := range found {
		heading := definition.heading()
		if heading == "" {
			continue
		}
		ignored = ignored || definition.Policy != fleetyaml.CRDsCreateReplace
		if lines[heading] == nil {
			lines[heading] = map[string][]string{}
		}
		key := definition.Cluster + "/" + definition.Bundle
		lines[heading][definition.line()] = append(lines[heading][definition.line()], key)
	}
	var parts []string
	for _, heading := range slices.Sorted(maps.Keys(lines)) {
		var part strings.Builder
		part.WriteString(heading + ":")
		for _, line := range slices.Sorted(maps.Keys(lines[heading])) {
			part.WriteString("\n  - " + line + ": " + strings.Join(slices.Sorted(slices.Values(lines[heading][line])), ", "))
		}
		parts = append(parts, part.String())
	}
	return strings.Join(parts, "\n\n"), ignored
}
