package provider

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// capabilitiesKey is where a target keeps what the clusters of the provider can do, if
// anything of it could depend on that. Read finds it out; planning and applying render
// charts with it, so that both give the same, whatever becomes of a cluster in between.
const capabilitiesKey = "capabilities"

// abilities are what clusters can do, by name; nil if nobody asks.
type abilities map[string]target.Capabilities

// storedAbilities keep each different answer once: most clusters of a fleet are alike.
type storedAbilities struct {
	Sets []storedAbility `json:"sets,omitempty"`
	// Clusters are places in Sets by name; nil if nobody asks.
	Clusters map[string]int `json:"clusters,omitempty"`
	Asked    bool           `json:"asked"`
}

// pack compresses: what a cluster can do takes some ten thousand bytes.
func (s storedAbilities) pack() ([]byte, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(plain); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return json.Marshal(packed.Bytes())
}

func unpackAbilities(raw []byte) (storedAbilities, error) {
	var stored storedAbilities
	var packed []byte
	if err := json.Unmarshal(raw, &packed); err != nil {
		return stored, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return stored, err
	}
	return stored, json.NewDecoder(reader).Decode(&stored)
}

// storedAbility is one answer, with kinds below their API versions.
type storedAbility struct {
	Version string              `json:"version"`
	Major   string              `json:"major"`
	Minor   string              `json:"minor"`
	APIs    map[string][]string `json:"apis"`
}

func readAbilities(ctx context.Context, private privateReader, diags *diag.Diagnostics) abilities {
	raw, found := private.GetKey(ctx, capabilitiesKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	stored, err := unpackAbilities(raw)
	if err != nil {
		diags.AddError("Cannot read what is known of the capabilities of clusters", sentence(err))
	}
	if !stored.Asked {
		return nil
	}
	known := abilities{}
	for cluster, i := range stored.Clusters {
		if i >= 0 && i < len(stored.Sets) {
			known[cluster] = stored.Sets[i].capabilities()
		}
	}
	return known
}

func (a abilities) write(ctx context.Context, private privateWriter, diags *diag.Diagnostics) {
	stored := storedAbilities{Asked: a != nil, Clusters: map[string]int{}}
	var kept []target.Capabilities
	for _, cluster := range slices.Sorted(maps.Keys(a)) {
		i := slices.IndexFunc(kept, a[cluster].Equal)
		if i < 0 {
			i = len(kept)
			kept = append(kept, a[cluster])
			stored.Sets = append(stored.Sets, storedAbilityOf(a[cluster]))
		}
		stored.Clusters[cluster] = i
	}
	raw, err := stored.pack()
	if err != nil {
		diags.AddError("Cannot store what is known of the capabilities of clusters", sentence(err))
		return
	}
	diags.Append(private.SetKey(ctx, capabilitiesKey, raw)...)
}

// remember stores abilities unless they are what is stored already.
func (a abilities) remember(ctx context.Context, before abilities, private privateWriter, diags *diag.Diagnostics) {
	same := (a == nil) == (before == nil) && maps.EqualFunc(a, before, target.Capabilities.Equal)
	if !same {
		a.write(ctx, private, diags)
	}
}

func storedAbilityOf(c target.Capabilities) storedAbility {
	stored := storedAbility{Version: c.Version, Major: c.Major, Minor: c.Minor, APIs: map[string][]string{}}
	for _, api := range c.APIs { // Sorted: "apps/v1" comes before "apps/v1/Deployment".
		if cut := strings.LastIndex(api, "/"); cut > 0 {
			if kinds, isKind := stored.APIs[api[:cut]]; isKind {
				stored.APIs[api[:cut]] = append(kinds, api[cut+1:])
				continue
			}
		}
		stored.APIs[api] = []string{}
	}
	return stored
}

func (s storedAbility) capabilities() target.Capabilities {
	c := target.Capabilities{Version: s.Version, Major: s.Major, Minor: s.Minor}
	for version, kinds := range s.APIs {
		c.APIs = append(c.APIs, version)
		for _, kind := range kinds {
			c.APIs = append(c.APIs, version+"/"+kind)
		}
	}
	slices.Sort(c.APIs)
	return c
}

// pin settles what charts are rendered with.
func (a abilities) pin(deployments []target.Deployment) {
	for i, d := range deployments {
		if known, ok := a[d.Cluster]; ok {
			deployments[i].Capabilities = &known
		}
	}
}

// abilityPatience is how long a refresh or an apply waits for clusters to tell what
// they can do. What is known already is as good.
const abilityPatience = 5 * time.Second

// lookAtAbilities asks all clusters of the provider, not only those that the target
// has: a label makes another one join it, and its plan is to be as precise. It asks
// while others look; the answer is waited for by calling what is returned.
func (f *fleet) lookAtAbilities(ctx context.Context, known abilities) func() abilities {
	if known == nil {
		return func() abilities { return nil }
	}
	var clusters []string
	for name := range f.clusters {
		if !f.expectsNoAnswer(name) {
			clusters = append(clusters, name)
		}
	}
	answers := make(chan abilities, 1)
	go func() { answers <- f.abilities(ctx, known, clusters) }()
	return func() abilities { return <-answers }
}

// abilities are those of clusters. One that does not answer keeps what is known of it,
// and one whose connection is not known yet may be another one.
func (f *fleet) abilities(ctx context.Context, known abilities, clusters []string) abilities {
	ctx, cancel := context.WithTimeout(ctx, abilityPatience)
	defer cancel()
	now := abilities{}
	for name, before := range known {
		if !f.expectsNoAnswer(name) {
			now[name] = before
		}
	}
	for name, found := range f.engine.Capabilities(ctx, clusters) {
		now[name] = found.Completed(known[name])
	}
	return now
}

// rememberAbilities stores what clusters can do after they were written to, if any
// wanted deployment could ask.
func (f *fleet) rememberAbilities(ctx context.Context, private privateWriter, known abilities, wanted, written []target.Deployment, diags *diag.Diagnostics) {
	if !slices.ContainsFunc(wanted, f.asksCluster) {
		abilities(nil).remember(ctx, known, private, diags)
		return
	}
	var clusters []string
	for _, d := range written {
		clusters = append(clusters, d.Cluster)
	}
	slices.Sort(clusters)
	clusters = slices.Compact(clusters)
	f.abilities(ctx, known, clusters).remember(ctx, known, private, diags)
}

func (f *fleet) asksCluster(d target.Deployment) bool {
	asks, err := f.charts.AsksCluster(d)
	return asks || err != nil
}

// promise is what a plan says of the objects of a deployment that is written, nil if
// they cannot be told. What is only marked anew keeps the objects that it has, and
// those may be from a time when its cluster could do other things.
func (f *fleet) promise(d target.Deployment, record deploy.Record, rendering release.Rendering) map[string]string {
	marked := isAsWanted(d, record)
	switch {
	case f.clusters[d.Cluster].connectionUnknown:
		return nil
	case marked && len(record.Objects) > 0:
		return record.Objects
	case marked && f.asksCluster(d), rendering.Irreproducible != "":
		return nil
	}
	return rendering.Hashes()
}

// unpinAfterKinds releases the deployments of a change from what their clusters could
// do before, where a bundle that they depend on is written as well and can change
// that: they are rendered for what it has made of the cluster. It answers that bundle
// by deployment.
func (f *fleet) unpinAfterKinds(changed change) map[deploy.Key]string {
	written := map[deploy.Key]target.Deployment{}
	for _, d := range changed.write {
		written[keyOf(d)] = d
	}
	unpinned := map[deploy.Key]string{}
	for i, d := range changed.write {
		if d.Capabilities == nil {
			continue
		}
		for _, bundle := range deploysAfter(changed.needs, d.Bundle.Name) {
			needed, ok := written[deploy.Key{Cluster: d.Cluster, Bundle: bundle}]
			if !ok {
				continue
			}
			if brings, err := f.charts.BringsKinds(needed); brings || err != nil {
				changed.write[i].Capabilities = nil
				unpinned[keyOf(d)] = bundle
				break
			}
		}
	}
	return unpinned
}

// deploysAfter are the bundles that a bundle depends on, through others as well,
// sorted.
func deploysAfter(needs map[string][]string, bundle string) []string {
	found := map[string]bool{}
	var follow func(string)
	follow = func(name string) {
		for _, needed := range needs[name] {
			if !found[needed] {
				found[needed] = true
				follow(needed)
			}
		}
	}
	follow(bundle)
	return slices.Sorted(maps.Keys(found))
}

// unpinUnplanned releases those deployments whose objects the plan has left open: they
// are rendered for their cluster as it is when they are written.
func (m *targetModel) unpinUnplanned(write []target.Deployment) {
	if !m.PlanObjects.ValueBool() {
		return
	}
	planned := m.plannedObjects()
	for i, d := range write {
		if _, promised := planned[keyOf(d)]; !promised {
			write[i].Capabilities = nil
		}
	}
}

// openBecause says why the objects of a deployment cannot be told before the apply.
func openBecause(cause string, asksCluster bool, dependsOn string) string {
	switch {
	case !asksCluster:
		return cause
	case dependsOn != "":
		return cause + ", and bundle " + dependsOn + ", which it depends on, can change what the cluster can do"
	}
	return cause + ", and what the cluster can do was not noted yet"
}
