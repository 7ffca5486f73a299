package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Shown is what a plan or a state shows of deployments: the computed maps of a target. An element
// that is known after the apply is "".
type Shown struct {
	// Deployments are the deployments by cluster/bundle, such as
	// "web-1.0.0 shop/web ac881d87".
	Deployments map[string]string
	// Objects are short hashes of objects, by "cluster/bundle Kind.group/namespace/name". A
	// deployment whose objects can have other names after each apply has one element,
	// "cluster/bundle", such as "14 objects 0123456789ab".
	Objects map[string]string
	// Records are what is stored of each release; see EncodeRecord.
	Records map[string]string
	// NotReady are the states of deployments that are not ready, by cluster/bundle, such as
	// "NotReady: not ready: Deployment web/nginx is InProgress".
	NotReady map[string]string
	// Clusters are summaries by cluster, such as "3/3 deployments, 41/41 objects".
	Clusters map[string]string
	// IsUnknown is true if a plan shows nothing of deployments. NotReadyUnknown is true if it does
	// not show which are ready, ObjectsUnknown if it does not show objects, and RecordsUnknown if any
	// element of Records can change or be added.
	IsUnknown, NotReadyUnknown, ObjectsUnknown, RecordsUnknown bool
}

// RecordsKnown reports whether all records are known.
func (s Shown) RecordsKnown() bool {
	for _, text := range s.Records {
		if text == "" {
			return false
		}
	}
	return !s.RecordsUnknown
}

// Contents are the values of a state. One call of Terraform decodes them once.
type Contents struct {
	Records map[deploy.Key]deploy.Record
	// Missing are the releases that were not on their clusters.
	Missing MissingReleases
	// Held are the deployments that the last change held.
	Held map[deploy.Key]bool
	// ShowsObjects is true if the state shows objects.
	ShowsObjects bool
	// Planned is what the plan of the last change decided.
	Planned Planned
	// Damaged are the elements of records that cannot be read.
	Damaged []string
	// Summaries are the texts about clusters. A cluster on which nothing changes keeps its text.
	Summaries map[string]string
}

// Decode returns the contents of a state. planned is its attribute planned, and drift what private
// state has of the deployments.
func Decode(shown Shown, planned Planned, drift DriftState) Contents {
	known, objects := DecodeRecords(shown.Records), shown.objects()
	contents := Contents{Records: make(map[deploy.Key]deploy.Record, len(shown.Deployments)), Held: planned.Held, Planned: planned, Damaged: known.Damaged, Summaries: shown.Clusters}
	for name := range shown.Deployments {
		key := keyOf(name)
		record := known.Current[key]
		if _, record.NamesVary = shown.Objects[name]; !record.NamesVary {
			record.Objects = objects[key]
		}
		record.Leftovers = known.Leftovers[key]
		contents.Records[key] = drift.On(name, record)
	}
	contents.Missing = known.Missing(func(key deploy.Key) bool {
		_, deployed := contents.Records[key]
		return deployed
	})
	return contents
}

// Keys returns the keys of all releases that have the id of a target.
func (c Contents) Keys(instance string) []string {
	var keys []string
	add := func(known release.Known) {
		if known.Release != "" && known.Instance == instance {
			keys = append(keys, known.Key)
		}
	}
	for _, record := range c.Records {
		add(record.Known)
		for _, left := range record.Leftovers {
			add(left)
		}
	}
	for _, known := range c.Missing {
		add(known)
	}
	return keys
}

// Shown returns how a state shows its contents.
func (c Contents) Shown() Shown {
	shown := Shown{
		Deployments: make(map[string]string, len(c.Records)), Objects: map[string]string{}, Records: make(map[string]string, len(c.Records)),
		NotReady: notReady(c.Records, c.Held), Clusters: clusterSummaries(c.Records, c.Held),
	}
	for key, record := range c.Records {
		shown.Deployments[key.String()] = deploymentText(record)
		if c.ShowsObjects {
			maps.Copy(shown.Objects, objectElements(key, record))
		} else {
			record.Objects = nil
		}
		maps.Copy(shown.Records, EncodeRecord(key, record))
	}
	for key, known := range c.Missing {
		if _, there := c.Records[key]; !there {
			shown.Records[key.String()] = EncodeKnown(known)
		}
	}
	return shown
}

// ShownPlan returns what a plan shows. before is the state before, nil for a create.
// missing are the missing releases of wanted deployments.
func ShownPlan(planned *plan.Plan, before *Contents, missing MissingReleases, showsObjects bool) Shown {
	all := planned.Records()
	records := make(map[deploy.Key]deploy.Record, len(all))
	for key, record := range all {
		records[key] = record.Record
	}
	shown := Contents{Records: records, Missing: missing, Held: planned.HeldKeys(), ShowsObjects: showsObjects}.Shown()
	for key, record := range all {
		if !record.IsWritten {
			continue
		}
		name := key.String()
		shown.Records[name] = ""
		if record.DigestUnknown {
			shown.Deployments[name] = ""
		}
		if record.NamesUnknown && showsObjects {
			shown.Objects[name] = ""
		}
		shown.NotReadyUnknown = shown.NotReadyUnknown || record.ReadinessUnknown
		// Terraform plans a create again before its apply, and that plan reads the clusters again.
		// The second plan may show other elements only if the first one showed none.
		shown.ObjectsUnknown = shown.ObjectsUnknown || before == nil && record.NamesDependOnCluster && showsObjects
		if record.NamesUnknown || record.ReadinessUnknown {
			shown.Clusters[key.Cluster] = ""
		}
	}
	if shown.ObjectsUnknown {
		shown.Objects = nil
	}
	if before != nil {
		shown.keepClusters(planned.Change, before.Held, before.Summaries)
	}
	return shown
}

// keepClusters keeps the former summaries of clusters on which nothing changes.
func (s Shown) keepClusters(change plan.Change, wasHeld map[deploy.Key]bool, summaries map[string]string) {
	changed := map[string]bool{}
	for _, cluster := range change.Clusters() {
		changed[cluster] = true
	}
	held := change.HeldKeys()
	for key := range held {
		changed[key.Cluster] = changed[key.Cluster] || !wasHeld[key]
	}
	for key := range wasHeld {
		changed[key.Cluster] = changed[key.Cluster] || !held[key]
	}
	for cluster := range s.Clusters {
		if text, ok := summaries[cluster]; ok && !changed[cluster] {
			s.Clusters[cluster] = text
		}
	}
}

// ShownAfter returns what a state shows after an apply that carried out a plan. Where the apply
// changed nothing, the state shows what the plan shows.
func ShownAfter(contents Contents, change plan.Change, planned Planned, plan Shown) Shown {
	if !plan.IsUnknown {
		contents.Records = plan.withVaryingNames(contents.Records)
	}
	shown := contents.Shown()
	if !plan.IsUnknown {
		shown.keepClusters(change, planned.Held, plan.Clusters)
	}
	return shown
}

// withVaryingNames marks the records of which the plan shows only the number of objects.
func (s Shown) withVaryingNames(records map[deploy.Key]deploy.Record) map[deploy.Key]deploy.Record {
	marked := make(map[deploy.Key]deploy.Record, len(records))
	for key, record := range records {
		_, record.NamesVary = s.Objects[key.String()]
		marked[key] = record
	}
	return marked
}

// Differences lists, sorted, where a state shows something else than the plan did. There are none
// after an apply without an error; otherwise Terraform would report an inconsistent result.
func (s Shown) Differences(plan Shown) []string {
	if plan.IsUnknown {
		return nil
	}
	var found []string
	compare := func(attribute string, planned, is map[string]string) {
		for key, text := range planned {
			if now, ok := is[key]; !ok || text != "" && now != text {
				found = append(found, fmt.Sprintf("%s[%q] is %q, planned was %q", attribute, key, now, text))
			}
		}
		for key, now := range is {
			if _, ok := planned[key]; !ok {
				found = append(found, fmt.Sprintf("%s[%q] is %q and was not planned", attribute, key, now))
			}
		}
	}
	compare("deployments", plan.Deployments, s.Deployments)
	if plan.Objects != nil {
		compare("objects", plan.Objects, s.Objects)
	}
	compare("clusters", plan.Clusters, s.Clusters)
	if !plan.NotReadyUnknown {
		compare("not_ready", plan.NotReady, s.NotReady)
	}
	slices.Sort(found)
	return found
}

// PlannedObjects returns the objects of each deployment for which the plan has the names of the
// objects. A hash that is known after the apply is "".
func (s Shown) PlannedObjects() map[deploy.Key]map[string]string {
	planned := s.objects()
	for name, text := range s.Deployments {
		key := keyOf(name)
		if _, varies := s.Objects[name]; varies || s.Objects == nil || text == "" && planned[key] == nil {
			continue
		}
		if planned[key] == nil { // A deployment can have no objects.
			planned[key] = map[string]string{}
		}
	}
	return planned
}

// objects returns the objects of each deployment whose names of objects are shown.
func (s Shown) objects() map[deploy.Key]map[string]string {
	objects := map[deploy.Key]map[string]string{}
	for name, hash := range s.Objects {
		deployment, object, isObject := strings.Cut(name, " ")
		if !isObject {
			continue
		}
		key := keyOf(deployment)
		if objects[key] == nil {
			objects[key] = map[string]string{}
		}
		objects[key][object] = hash
	}
	return objects
}

func keyOf(name string) deploy.Key {
	cluster, bundle, _ := strings.Cut(name, "/")
	return deploy.Key{Cluster: cluster, Bundle: bundle}
}

// deploymentText returns the text of a deployment, of three words: its chart and version, its
// release, and the beginning of its digest.
func deploymentText(record deploy.Record) string {
	return mask.Word(bundle.ChartText(record.Chart, record.Version)) + " " + release.Key(record.Namespace, record.Release) + " " + digits(record.Digest)
}

// digits returns the beginning of a digest, "-" if the release is not from this provider.
func digits(digest string) string {
	if digest == "" {
		return "-"
	}
	return bundle.ShortDigest(digest)
}

// objectElements returns the elements of the attribute objects of one deployment.
func objectElements(key deploy.Key, record deploy.Record) map[string]string {
	if record.NamesVary {
		return map[string]string{key.String(): objectsText(record.Objects)}
	}
	elements := make(map[string]string, len(record.Objects))
	for object, hash := range record.Objects {
		elements[key.String()+" "+object] = hash
	}
	return elements
}

// objectsText returns a text such as "14 objects 0123456789ab", with a hash over all objects.
func objectsText(objects map[string]string) string {
	var all strings.Builder
	for _, object := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(&all, "%s %s\n", object, objects[object])
	}
	return fmt.Sprintf("%s %s", status.Number(len(objects), "object"), release.ShortHash([]byte(all.String())))
}

// notReady returns the states of deployments that are not ready. A deployment that is held and not
// installed yet is one of them.
func notReady(records map[deploy.Key]deploy.Record, held map[deploy.Key]bool) map[string]string {
	texts := map[string]string{}
	for key := range held {
		texts[key.String()] = string(status.WaitApplied)
	}
	for key, record := range records {
		if record.State != status.Ready && record.State != "" {
			texts[key.String()] = record.State.Text(record.Message)
		}
	}
	return texts
}

// clusterSummaries returns the summaries of clusters with deployments, held deployments included.
func clusterSummaries(records map[deploy.Key]deploy.Record, held map[deploy.Key]bool) map[string]string {
	summaries := map[string]*status.ClusterSummary{}
	of := func(cluster string) *status.ClusterSummary {
		if summaries[cluster] == nil {
			summaries[cluster] = &status.ClusterSummary{}
		}
		return summaries[cluster]
	}
	for key, record := range records {
		summary := of(key.Cluster)
		summary.Deployments++
		summary.Objects = summary.Objects.Plus(record.Counts)
		if record.State == status.Ready && !held[key] {
			summary.Ready++
		}
	}
	for key := range held {
		if _, deployed := records[key]; !deployed {
			of(key.Cluster).Deployments++
		}
	}
	texts := make(map[string]string, len(summaries))
	for cluster, summary := range summaries {
		texts[cluster] = summary.String()
	}
	return texts
}

// WantedReleases returns the missing releases of a state that are wanted, and the releases of
// deployments that a plan left out.
func WantedReleases(missing MissingReleases, wanted []target.Deployment, leftOut map[deploy.Key]release.Known) MissingReleases {
	releases := missing.Wanted(wanted)
	maps.Copy(releases, leftOut)
	return releases
}
