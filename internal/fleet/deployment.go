package fleet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// bundleDeployment is what this provider reads of a BundleDeployment
// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1/bundledeployment_types.go).
type bundleDeployment struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		StagedDeploymentID string `json:"stagedDeploymentID"`
		DeploymentID       string `json:"deploymentID"`
		Paused             bool   `json:"paused"`
		OffSchedule        bool   `json:"offSchedule"`
		WaitingForValues   bool   `json:"waitingForValues"`
		ValuesHash         string `json:"valuesHash"`
	} `json:"spec"`
	Status struct {
		Conditions          []condition      `json:"conditions"`
		AppliedDeploymentID string           `json:"appliedDeploymentID"`
		Ready               bool             `json:"ready"`
		NonModified         bool             `json:"nonModified"`
		NonReadyStatus      []notReadyObject `json:"nonReadyStatus"`
		ModifiedStatus      []modifiedObject `json:"modifiedStatus"`
		Resources           []object         `json:"resources"`
		ResourceCounts      struct {
			Ready       int `json:"ready"`
			WaitApplied int `json:"waitApplied"`
			Modified    int `json:"modified"`
			Orphaned    int `json:"orphaned"`
			Missing     int `json:"missing"`
			Unknown     int `json:"unknown"`
			NotReady    int `json:"notReady"`
		} `json:"resourceCounts"`
	} `json:"status"`

	// unreadable is the reason why only Metadata is known, nil if all is known.
	unreadable error
}

var errClusterTooLarge = fmt.Errorf("the BundleDeployments in its namespace take more than %d MiB", maxClusterSize>>20)

// decodeDeployment reads a BundleDeployment. If its status cannot be read, it is unreadable.
func decodeDeployment(object json.RawMessage) (bundleDeployment, error) {
	var bd bundleDeployment
	if err := json.Unmarshal(object, &bd); err != nil {
		return partialDeployment(object, err)
	}
	bd.trim()
	return bd, nil
}

// partialDeployment reads the metadata of a BundleDeployment. cause is the reason why the rest cannot
// be read.
func partialDeployment(object json.RawMessage, cause error) (bundleDeployment, error) {
	var of onlyAbout
	err := json.Unmarshal(object, &of)
	return bundleDeployment{Metadata: of.Metadata, unreadable: mask.WithText(cause, short(cause.Error()))}, err
}

// checkReadable returns an error if the status cannot be read.
func (d *bundleDeployment) checkReadable() error {
	if d == nil || d.unreadable == nil {
		return nil
	}
	return fmt.Errorf("the status of BundleDeployment %s/%s, "+
		"which the agent of the cluster writes, cannot be read: %w", d.Metadata.Namespace, d.Metadata.Name, d.unreadable)
}

// metadata is the part of an object's metadata that is read.
type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Generation      int64             `json:"generation"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	// DeletionTimestamp is "" unless the object is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type object struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

type notReadyObject struct {
	object

	Summary struct {
		State   string   `json:"state"`
		Message []string `json:"message"`
	} `json:"summary"`
}

type modifiedObject struct {
	object

	Missing bool   `json:"missing"`
	Exist   bool   `json:"exist"`
	Delete  bool   `json:"delete"`
	Patch   string `json:"patch"`
}

// Labels that Fleet writes on BundleDeployments (Fleet: pkg/apis/fleet.cattle.io/v1alpha1, and
// internal/cmd/controller/target/target.go).
const (
	labelBundleName       = wellknown.BundleName
	labelBundleNamespace  = wellknown.FleetPrefix + "bundle-namespace"
	labelCluster          = wellknown.FleetPrefix + "cluster"
	labelClusterNamespace = wellknown.FleetPrefix + "cluster-namespace"
)

// maxText limits a message of Fleet, in bytes.
const maxText = 2000

// texts prepares messages of other programs for display.
type texts struct{ masker *mask.Masker }

func (t texts) shown(text string) string {
	return mask.WithoutMiddle(t.masker.Shown(strings.TrimSpace(text)), maxText)
}

// failureOf returns the condition of a type if its status is False.
func failureOf(conditions []condition, kind string) (failed condition, found bool) {
	for _, c := range conditions {
		if c.Type == kind && c.Status == "False" {
			return c, true
		}
	}
	return condition{}, false
}

// reasonError is the reason that Fleet gives a condition for any error (Fleet:
// internal/cmd/agent/deployer/monitor/condition.go).
const reasonError = "Error"

// waitsForDependencies begins the message of a deployment that waits for others in a Fleet before
// 0.16.2, which gives it reasonError (Fleet: internal/cmd/agent/deployer/deployer.go,
// NotReadyDependenciesError).
const waitsForDependencies = "dependent bundle(s) are not ready: "

// isError reports whether a condition whose status is False reports an error. With any other reason the
// agent waits for something, such as WaitingForDependency.
func (c condition) isError() bool {
	return (c.Reason == "" || c.Reason == reasonError) && !strings.HasPrefix(c.Message, waitsForDependencies)
}

// hasFailed reports whether the message of a condition is about a failed operation, or one that waits.
func (d *bundleDeployment) hasFailed() bool {
	if d == nil {
		return false
	}
	_, deployed := failureOf(d.Status.Conditions, "Deployed")
	_, installed := failureOf(d.Status.Conditions, "Installed")
	return deployed || installed
}

// text returns what a condition says, never "".
func (c condition) text(t texts) string {
	return firstText(t.shown(c.Message), t.shown(c.Reason), noReason)
}

const noReason = "Fleet gives no reason"

// hasErrorOf reports whether d has the error of former, the deployment before a change. The agent
// removes an error when it has carried out the change (Fleet:
// internal/cmd/agent/controller/bundledeployment_controller.go), or writes another.
func (d *bundleDeployment) hasErrorOf(former *bundleDeployment) bool {
	if d == nil || former == nil || d.Spec.DeploymentID == former.Spec.DeploymentID {
		return false
	}
	now, failed := failureOf(d.Status.Conditions, "Deployed")
	before, hadFailed := failureOf(former.Status.Conditions, "Deployed")
	return failed && hadFailed && now == before
}

const notApplied = "the agent has not applied the last change yet"

// sighting is the information from which the state of one deployment is determined.
type sighting struct {
	// deployment is the BundleDeployment, nil if there is none.
	deployment *bundleDeployment
	// digest is labelDigest of its Bundle.
	digest string
	agent  agent
	// isFormer reports that the agent has probably not looked at the change yet: its error is that of
	// the deployment before. A deployment that goes back would otherwise count as applied at once.
	isFormer bool
	// bundleMessage is the reason why Fleet's controller cannot process the Bundle, "" if it can.
	bundleMessage string
	// valuesHash is the hash of the values that the agent must get, "" if that is not known.
	valuesHash string
}

// lacksValues reports whether the agent lacks the values of the Bundle: their Secret is missing, or
// was created without them.
func (s sighting) lacksValues() bool {
	bd := s.deployment
	if bd == nil || bd.Metadata.DeletionTimestamp != "" {
		return false
	}
	isHanded := bd.Metadata.Labels[labelDigest] == s.digest && bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID && bd.Spec.DeploymentID != ""
	return bd.Spec.WaitingForValues || isHanded && s.valuesHash != "" && bd.Spec.ValuesHash != s.valuesHash
}

// agent is what the management cluster records about the agent of a cluster.
type agent struct {
	lastSeen time.Time
	offline  bool
}

// text returns the end of a message about a cluster, "" unless its agent is offline.
func (a agent) text() string {
	if !a.offline {
		return ""
	}
	return "; the agent of the cluster " + a.seen()
}

func (a agent) seen() string {
	if a.lastSeen.IsZero() {
		return "was never seen"
	}
	return "was last seen at " + a.lastSeen.UTC().Format(time.RFC3339)
}

// facts translates what Fleet reports of a deployment. It differs from Fleet's own GetDeploymentState
// (internal/cmd/controller/summary/summary.go) in two cases. A BundleDeployment that was computed
// from an earlier Bundle counts as not applied. A failed install counts as failed.
func (s sighting) facts(t texts) status.Facts {
	if s.bundleMessage != "" {
		return status.Facts{Failed: firstText(t.shown(s.bundleMessage), noReason)}
	}
	bd := s.deployment
	if err := bd.checkReadable(); err != nil {
		return status.Facts{Failed: t.shown(err.Error())}
	}
	isMissing := bd == nil || bd.Metadata.DeletionTimestamp != ""
	isLatest := !isMissing && bd.Metadata.Labels[labelDigest] == s.digest
	switch {
	case s.agent.offline && !isLatest:
		// The progress of Fleet's controller makes no difference, so a refresh soon after an apply
		// finds the same state.
		return status.Facts{Unfinished: notApplied + s.agent.text()}
	case isMissing:
		return status.Facts{Absent: "Fleet has not created its BundleDeployment yet"}
	case !isLatest:
		return status.Facts{Unfinished: "Fleet's controller has not processed the last change of the Bundle yet"}
	case s.lacksValues():
		return status.Facts{Unfinished: "Fleet waits for the Secret with the values of its BundleDeployment"}
	case s.isFormer:
		return status.Facts{Unfinished: notApplied + s.agent.text()}
	case bd.Spec.DeploymentID == "" || bd.Spec.DeploymentID != bd.Status.AppliedDeploymentID:
		return s.unapplied(t)
	}
	return bd.applied(t)
}

// unapplied returns the facts of a deployment that its agent has not applied.
func (s sighting) unapplied(t texts) status.Facts {
	bd := s.deployment
	failed, hasFailed := failureOf(bd.Status.Conditions, "Deployed")
	switch {
	case hasFailed && failed.isError():
		return status.Facts{Failed: failed.text(t) + s.agent.text()}
	case hasFailed:
		return status.Facts{Unfinished: failed.text(t) + s.agent.text()}
	case bd.Spec.DeploymentID == "":
		return status.Facts{Absent: "Fleet holds the deployment" + bd.heldBecause()}
	}
	return status.Facts{Unfinished: notApplied + s.agent.text()}
}

// applied returns the facts of a deployment that its agent has applied.
func (d *bundleDeployment) applied(t texts) status.Facts {
	f := status.FactsOf(d.finding(t))
	if d.Status.NonModified {
		f.Drift = ""
	} else {
		f.Drift = firstText(f.Drift, "objects are not as they were deployed")
	}
	if d.Spec.DeploymentID != d.Spec.StagedDeploymentID {
		f.Outdated = "Fleet holds the last change" + d.heldBecause()
	}
	if d.Status.Ready {
		f.NotReady = ""
	} else {
		failed, _ := failureOf(d.Status.Conditions, "Ready")
		f.NotReady = firstText(f.NotReady, t.shown(failed.Message), "not ready")
		d.addFailure(&f, "Monitored", t)
	}
	d.addFailure(&f, "Installed", t)
	return f
}

// addFailure adds the error or the wait that a condition reports.
func (d *bundleDeployment) addFailure(f *status.Facts, kind string, t texts) {
	failed, is := failureOf(d.Status.Conditions, kind)
	switch {
	case !is:
	case failed.isError():
		f.Failed = failed.text(t)
	default:
		f.Unfinished = failed.text(t)
	}
}

func firstText(texts ...string) string {
	i := slices.IndexFunc(texts, func(text string) bool { return text != "" })
	return texts[max(i, 0)]
}

// heldBecause returns the reason why Fleet does not hand a change to the agent.
func (d *bundleDeployment) heldBecause() string {
	switch {
	case d.Spec.Paused:
		return ": the cluster or the Bundle is paused"
	case d.Spec.OffSchedule:
		return ": it is outside of the cluster's schedule"
	}
	return ": the limits of the rollout are reached"
}

const (
	// maxObjects limits how many objects are read of NonReadyStatus and of ModifiedStatus. Fleet
	// lists ten in each.
	maxObjects = 20
	// maxResources limits how many objects of one deployment are read.
	maxResources = 10_000
	// maxConditions limits how many conditions are read. Fleet has five.
	maxConditions = 20
)

// trim cuts a status down to its limits before it is kept. Agents write the status, and any user
// who controls a cluster can act as its agent.
func (d *bundleDeployment) trim() {
	of := &d.Status
	of.Conditions = slices.Clone(of.Conditions[:min(len(of.Conditions), maxConditions)])
	for i := range of.Conditions {
		of.Conditions[i].Reason, of.Conditions[i].Message = short(of.Conditions[i].Reason), short(of.Conditions[i].Message)
	}
	of.Resources = slices.Clone(of.Resources[:min(len(of.Resources), maxResources)])
	of.NonReadyStatus = slices.Clone(of.NonReadyStatus[:min(len(of.NonReadyStatus), maxObjects)])
	for i := range of.NonReadyStatus {
		summary := &of.NonReadyStatus[i].Summary
		summary.State, summary.Message = short(summary.State), []string{short(strings.Join(summary.Message, "; "))}
	}
	of.ModifiedStatus = slices.Clone(of.ModifiedStatus[:min(len(of.ModifiedStatus), maxObjects)])
}

// short returns the beginning and the end of a text that is masked and shown later. It keeps more
// than the shown part, so that no secret is cut within that part.
func short(text string) string { return strings.Clone(mask.WithoutMiddle(text, 4*maxText)) }

// finding returns what the agent reports about objects.
func (d *bundleDeployment) finding(t texts) release.Finding {
	found := release.Finding{Ready: max(0, d.Status.ResourceCounts.Ready)}
	for _, of := range d.Status.NonReadyStatus {
		reason := firstText(strings.Join(of.Summary.Message, "; "), of.Summary.State, "not ready")
		found.NotReady = append(found.NotReady, release.Unready{Object: of.key(t), Reason: t.shown(reason)})
	}
	for _, of := range d.Status.ModifiedStatus {
		switch {
		case of.Missing && of.Exist:
			found.NotOwned = append(found.NotOwned, release.OwnedObject{Object: of.key(t), Owner: "another owner"})
		case of.Missing:
			found.Missing = append(found.Missing, of.key(t))
		case of.Delete:
			all := []release.Difference{{Path: "(it is not part of the bundle)"}}
			found.Modified = append(found.Modified, release.Modification{Object: of.key(t), Differences: all})
		default:
			found.Modified = append(found.Modified, release.Modification{Object: of.key(t), Differences: differences(of.Patch, t)})
		}
	}
	return found
}

// key returns an object in the form of findings, such as "Deployment web/nginx".
func (o object) key(t texts) string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return mask.PrintableLine(t.shown(o.Kind + " " + name))
}

// counts returns the numbers of objects that the agent reports.
func (d *bundleDeployment) counts() status.Counts {
	of := d.Status.ResourceCounts
	return status.Counts{
		Ready: max(0, of.Ready), NotReady: max(0, of.NotReady), Modified: max(0, of.Modified+of.Orphaned), Missing: max(0, of.Missing),
		Unknown: max(0, of.Unknown+of.WaitApplied),
	}
}

// isApplied reports whether the agent has applied the Bundle with this digest.
func (d *bundleDeployment) isApplied(digest string) bool {
	return d.Metadata.Labels[labelDigest] == digest && d.Metadata.DeletionTimestamp == "" && d.Spec.DeploymentID != "" &&
		d.Spec.DeploymentID == d.Spec.StagedDeploymentID && d.Spec.DeploymentID == d.Status.AppliedDeploymentID
}

// isRemoved reports whether the agent has replaced everything of a deployment by the empty chart.
func (d *bundleDeployment) isRemoved(digest string) bool {
	return d.isApplied(digest) && len(d.Status.Resources) == 0 && d.counts() == status.Counts{}
}

// offlineError reports a cluster whose agent was not seen for a long time, so the apply does not
// wait for it.
type offlineError struct{ agent }

func (e *offlineError) Error() string {
	return "the agent of the cluster " + e.seen() + ". The Bundle is written, and Fleet deploys it when the agent is back. " +
		"Start the agent, or set on_offline = \"leave\" in the engine block to let the apply succeed"
}
