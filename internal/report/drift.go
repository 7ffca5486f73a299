package report

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Drift reports deployments that are not ready, differences between live and deployed objects,
// and kinds that cannot be read. Differences that an apply corrects and differences that are
// only reported are two warnings. A difference that is equal on many clusters is reported
// once.
func Drift(name string, observation deploy.Observation) []Message {
	messages := notReady(name, observation)
	var corrected, reported, refused status.Grouped
	for _, key := range slices.SortedFunc(maps.Keys(observation.Findings), deploy.Key.Compare) {
		finding := observation.Findings[key]
		for _, kind := range status.RefusedKinds(finding) {
			refused.Add(kind, key.Cluster)
		}
		lines := status.Drift(finding)
		if len(lines) == 0 {
			continue
		}
		if isCorrected(finding, observation.Records[key].Rules) {
			corrected.Add("\n"+listOf(lines), key.String())
			continue
		}
		reported.Add("\n"+listOf(lines), key.String())
	}
	messages = append(messages, warningIf(!corrected.IsEmpty(), "Target "+name+": live objects differ from what was deployed",
		corrected.String()+"\n\nAn apply corrects these objects. To only report drift, set correctDrift.enabled to false in the bundle. "+
			"To ignore fields that others may change, use diff.comparePatches.")...)
	messages = append(messages, warningIf(!reported.IsEmpty(), "Target "+name+": live objects differ from what was deployed and are not corrected",
		reported.String()+"\n\nAn apply does not correct these objects: the bundle sets correctDrift.enabled to false, or another release owns the objects.")...)
	messages = append(messages, warningIf(!refused.IsEmpty(), "Target "+name+": not all live objects can be read",
		"The clusters deny access to objects of these kinds:"+refused.List()+
			"\n\nFor these kinds, only release records are compared. Grant get and list on these kinds, or set drift = \"release\" on the target.")...)
	return messages
}

// notReady warns of deployments whose last operation succeeded and whose objects are not ready
// now. They need no change, so no plan would show them without the warning.
func notReady(name string, observation deploy.Observation) []Message {
	var unready status.Grouped
	for _, key := range slices.SortedFunc(maps.Keys(observation.Records), deploy.Key.Compare) {
		record := observation.Records[key]
		if record.State != status.NotReady {
			continue
		}
		lines := status.Unready(observation.Findings[key])
		if len(lines) == 0 { // With drift = "release" the state has only the message of the record.
			lines = []string{record.Message}
		}
		unready.Add("\n"+listOf(lines), key.String())
	}
	return warningIf(!unready.IsEmpty(), "Target "+name+": deployments are not ready",
		unready.String()+"\n\nThe wanted version is deployed, so this alone is no change. Check the events and logs of these objects. "+
			"A check block can test this in every run, see the example of fleet_cluster_target.")
}

// isCorrected reports whether an apply corrects any object of a finding.
func isCorrected(finding release.Finding, rules release.Rules) bool {
	return status.CountsOf(finding).Drifted() && !rules.ReportOnly
}
