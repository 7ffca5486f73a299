package deploy

import (
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Report describes one deployment on its cluster in full.
type Report struct {
	Record

	// Message is not cut, unlike that of a record.
	Message string
	// Missing, Modified, NotOwned and NotReady name objects, and what is wrong with them.
	Missing, Modified, NotOwned, NotReady []string
}

// Reports returns the deployments of an observation by their names.
func (o Observation) Reports() map[string]Report {
	reports := map[string]Report{}
	for key, record := range o.Records {
		reports[key.String()] = reportOf(record, o.Findings[key])
	}
	return reports
}

func reportOf(record Record, finding release.Finding) Report {
	report := Report{Record: record, Message: record.Message, Missing: finding.Missing}
	for _, object := range finding.Modified {
		for _, difference := range object.Differences {
			report.Modified = append(report.Modified, release.DifferenceKey(object.Object, difference.Path))
		}
	}
	for _, object := range finding.NotOwned {
		report.NotOwned = append(report.NotOwned, object.Object+": "+object.Owner)
	}
	for _, object := range finding.NotReady {
		report.NotReady = append(report.NotReady, object.Object+": "+object.Reason)
	}
	// If objects are the cause, the message names all of them.
	objects := append(slices.Clone(report.NotReady), status.Drift(finding)...)
	if len(objects) == 0 {
		return report
	}
	report.Message = strings.Join(objects, "; ")
	if _, ofObjects := status.FactsOf(finding).State(); record.Message != ofObjects {
		report.Message = record.Message + "; " + report.Message
	}
	return report
}
