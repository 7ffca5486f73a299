package fleet

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observe reads the state of the deployments of the given records. A record disappears only if the
// management cluster has listed its Bundles.
func (e *Engine) Observe(
	ctx context.Context, identity deploy.TargetIdentity, drift deploy.Drift, records map[deploy.Key]deploy.Record,
) deploy.Observation {
	found := deploy.NewObservation()
	if len(records) == 0 {
		found.AllSeen = true
		return found
	}
	var seen view
	err := panics.Recovering("reading the management cluster", func() error {
		c, err := e.management()
		if err != nil {
			return err
		}
		seen, err = e.look(ctx, c, identity.Owner, instancesOf(identity, records))
		if err != nil {
			return err
		}
		e.observe(ctx, c, seen, drift, records, &found)
		return nil
	})()
	if err != nil {
		return keepAll(records, err)
	}
	found.AllSeen = true
	return found
}

// keepAll keeps all records, and adds one failure for each cluster.
func keepAll(records map[deploy.Key]deploy.Record, err error) deploy.Observation {
	found := deploy.NewObservation()
	found.Records = maps.Clone(records)
	clusters := map[string]bool{}
	for key := range records {
		clusters[key.Cluster] = true
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		found.Failures = append(found.Failures, deploy.Failure{Cluster: cluster, Doing: "reading the cluster", Err: err})
	}
	return found
}

func (e *Engine) observe(
	ctx context.Context, c *client, seen view, drift deploy.Drift, records map[deploy.Key]deploy.Record, found *deploy.Observation,
) {
	for key, record := range records {
		if of, known := seen.clusters[key.Cluster]; known && record.Known.Engine {
			found.UIDs[key.Cluster] = of.uid
		}
	}
	messages := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(records), deploy.Key.Compare) {
		prior := records[key]
		of, there := seen.bundleOf(key.Bundle, prior.Known.Instance)
		digest, delivered := deploymentsOf(of.Annotations)[key.Cluster]
		if !there || (!delivered && of.isUnchanged()) {
			addMissing(found, key, prior)
			continue
		}
		s := seen.sightingOf(of, key.Cluster)
		if !s.isNew() {
			if _, isRead := messages[of.Name]; !isRead {
				messages[of.Name] = e.bundleMessage(ctx, c, of.Name)
			}
			s.bundleMessage = messages[of.Name]
		}
		if err := s.deployment.checkReadable(); err != nil {
			found.Records[key] = prior
			found.Failures = append(found.Failures, key.Failure("reading the deployment", mask.WithText(err, e.texts.shown(err.Error()))))
			continue
		}
		record, finding := e.observed(prior, s, drift)
		record.Known.Engine = true
		if of.hasSecrets() && s.quotesFleet(record.State) {
			record.Message = withoutSecrets(prior, s)
		}
		switch {
		case !of.isUnchanged() || !delivered:
			record = record.With(status.Facts{Outdated: "another client has changed the Bundle " + of.Name})
		case digest == emptyDigest:
			record = record.With(status.Facts{Unfinished: "its removal is not finished"})
		case !prior.Known.Imported: // What was imported is written once more.
			record.Digest = digest
		}
		found.Records[key] = record
		if finding != nil && drift == deploy.DriftLive {
			found.Findings[key] = *finding
		}
	}
}

// sightingOf returns what is known of the deployment of a Bundle on a cluster.
func (v view) sightingOf(bundle metadata, cluster string) sighting {
	return sighting{
		deployment: v.deployments[deploymentID{bundle.Name, cluster}], digest: bundle.Labels[labelDigest], agent: v.clusters[cluster].agent,
	}
}

// quotesFleet reports whether the message of a state is one that Fleet has written.
func (s sighting) quotesFleet(state status.State) bool {
	return state == status.ErrApplied || state == status.WaitApplied && s.deployment.hasFailed()
}

// isNew reports whether the BundleDeployment was computed from the present Bundle.
func (s sighting) isNew() bool {
	return s.deployment != nil && s.deployment.Metadata.Labels[labelDigest] == s.digest
}

// addMissing records a deployment that no Bundle has. A deployment that was delivered directly
// keeps its record: the next apply moves the deployment.
func addMissing(found *deploy.Observation, key deploy.Key, prior deploy.Record) {
	if !prior.Known.Engine {
		found.Records[key] = prior
		return
	}
	found.Missing[key] = prior.Current()
}

// withoutSecrets returns a message for a failed deployment whose secrets are not known here, so
// that they cannot be masked. It is the message of the apply, or a text that names where the
// message is.
func withoutSecrets(prior deploy.Record, s sighting) string {
	switch {
	case prior.State == status.ErrApplied && prior.Message != "":
		return prior.Message
	case s.deployment == nil:
		return "the management cluster has the message, which can contain secret values"
	}
	of := s.deployment.Metadata
	return mask.PrintableLine("BundleDeployment " + of.Namespace + "/" + of.Name + " has the message, which can contain secret values")
}

// observed returns the record of a deployment from what was read. The finding is nil if the objects
// of the deployment are not checked.
func (e *Engine) observed(prior deploy.Record, s sighting, drift deploy.Drift) (deploy.Record, *release.Finding) {
	record := prior
	if drift == deploy.DriftNone {
		return record, nil
	}
	facts := s.facts(e.texts)
	if drift == deploy.DriftRelease {
		facts.Drift = ""
	}
	record = record.With(facts)
	record.Waits = s.agent.offline && e.settings.OnOffline == LeaveOffline && record.State == status.WaitApplied
	switch {
	case s.deployment == nil || !record.State.Settled() && record.State != status.Modified && record.State != status.OutOfSync:
		record.Counts = prior.Counts.Unseen()
		return record, nil
	case drift == deploy.DriftRelease:
		counts := s.deployment.counts()
		record.Counts = counts.WithoutReading(counts.NotReady)
		return record, nil
	}
	finding := s.deployment.finding(e.texts)
	record.Counts = s.deployment.counts()
	return record, &finding
}

// summary matches a message of Fleet that sums up BundleDeployments. Such a message is no error of
// the Bundle.
var summary = regexp.MustCompile(`^(OutOfSync|NotReady|WaitApplied|ErrApplied|Pending|Modified)\(\d+\) \[Cluster `)

// bundleMessage returns the reason why Fleet's controller could not process the newest generation of
// a Bundle, "" if it could, or if the reason is not known.
func (e *Engine) bundleMessage(ctx context.Context, c *client, name string) string {
	object, found, err := c.get(ctx, bundlesPath(e.settings.Namespace)+"/"+name)
	if err != nil || !found {
		return ""
	}
	var of struct {
		Metadata metadata `json:"metadata"`
		Status   struct {
			ObservedGeneration int64       `json:"observedGeneration"`
			Conditions         []condition `json:"conditions"`
		} `json:"status"`
	}
	// The controller writes the observed generation after the BundleDeployments
	// (Fleet: internal/cmd/controller/reconciler/bundle_controller.go, Reconcile).
	if convert(object, &of) != nil || of.Status.ObservedGeneration == of.Metadata.Generation {
		return ""
	}
	failed, _ := failureOf(of.Status.Conditions, "Ready")
	if summary.MatchString(failed.Message) {
		return ""
	}
	return failed.Message
}
