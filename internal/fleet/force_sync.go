package fleet

import "maps"

const (
	// optionForceSync is the option with which Fleet deploys again what has not changed.
	optionForceSync = "forceSyncGeneration"
	// forcedFrom is larger than any number that a user chooses.
	forcedFrom = 1 << 40
)

// forceSync returns the new entry of a cluster in a Bundle, so that no agent takes it for one that it
// has applied before. An agent compares the ID of a deployment, which is a hash of its options, with
// the ID that it applied last (Fleet: internal/cmd/agent/deployer/deployer.go, helmdeploy). While an
// agent carries out a change, that is the ID before the change. If the Bundle then goes back to these
// options, the deployment seems to be applied, and the agent still finishes the change. So an entry
// that replaces one that is not applied gets a number that the cluster never had.
func (r *applyRun) forceSync(name, cluster string, before *stored, wanted entry) entry {
	if before == nil {
		return wanted
	}
	there, found := before.content.entries[cluster]
	if !found {
		return wanted
	}
	isKept := before.isUnchanged() && there.digest == wanted.digest
	bd, _, _ := r.tracker.deployment(deploymentID{name, cluster})
	if !isKept && before.isUnchanged() && bd != nil && bd.isApplied(before.Labels[labelDigest]) {
		return wanted
	}
	wanted.options = maps.Clone(wanted.options)
	if !isKept {
		wanted.options[optionForceSync] = float64(forcedFrom + before.Generation + 1) // The type of JSON's numbers.
	} else if number, isSet := there.options[optionForceSync]; isSet {
		wanted.options[optionForceSync] = number
	}
	return wanted
}
