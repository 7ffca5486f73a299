package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Key names one deployment.
type Key struct {
	Cluster string
	Bundle  string
}

func (k Key) String() string { return target.Key(k.Cluster, k.Bundle) }

// Request is what one apply has to do. Deployments that are neither in Write
// nor in Remove are left alone.
type Request struct {
	Owner    string
	Target   string
	Instance string
	// Workspace is that of the state that knows the target.
	Workspace string
	// HandOver spares what another target takes; nil for nothing.
	HandOver HandOver
	// Write are the deployments to install, upgrade or adopt. One that is unpinned
	// is pinned to the versions of the objects that its values come from.
	Write []target.Deployment
	// Remove are the deployments to uninstall.
	Remove []Key
	// Prior is what was known before of any of them.
	Prior map[Key]Record
	// Keep are deployments in Prior that stay as they are, and UIDs the identities of
	// their clusters, as far as they are known. Two names can stand for one cluster;
	// what one of them keeps is not removed under the other.
	Keep     []Key
	UIDs     map[string]string
	Settings Settings
}

// Settings hold for all deployments of a request.
type Settings struct {
	// Wait until objects are ready, for Timeout unless the bundle says how long.
	Wait          bool
	Timeout       time.Duration
	MaxHistory    int
	TakeOwnership bool
	// Description stands in the history of each release.
	Description func(target.Deployment) string
}

// Outcome is what is true after an apply, whether it failed or not.
type Outcome struct {
	// Records holds every deployment of the request that is, or may be, on its
	// cluster. Those that were seen to be gone are missing.
	Records  map[Key]Record
	Failures []Failure
	// Versions holds, by cluster, the objects that values came from and that the
	// request did not know the versions of.
	Versions map[string]Versions
	// HandedOver are deployments whose releases were left to another target.
	HandedOver []Key
}

// Versions says which revision of an object values came from.
type Versions = map[target.Reference]string

// Apply carries a request out, cluster by cluster in parallel. A failure
// concerns one deployment; the others go on. When ctx ends nothing new is
// started, and what runs is brought to an end.
func (e *Engine) Apply(ctx context.Context, request Request) Outcome {
	work := request.byCluster()
	var sights panorama
	sights.expect(len(work))
	claims := sync.OnceValue(func() map[string]map[string]bool { return request.claims(sights.all()) })
	outcomes := make(chan Outcome, len(work))
	var running sync.WaitGroup
	for cluster, part := range work {
		running.Go(func() {
			seen := e.sight(ctx, cluster)
			sights.add(cluster, seen)
			// No write waits for another cluster's answer. Only a removal has to know
			// whether that is the same cluster under another name.
			claimed := func() map[string]bool { return claims()[request.identity(cluster, sights.all())] }
			outcomes <- e.applyCluster(ctx, seen, part, claimed)
		})
	}
	running.Wait()
	close(outcomes)

	total := Outcome{Records: map[Key]Record{}, Versions: map[string]Versions{}}
	for outcome := range outcomes {
		maps.Copy(total.Records, outcome.Records)
		maps.Copy(total.Versions, outcome.Versions)
		total.Failures = append(total.Failures, outcome.Failures...)
		total.HandedOver = append(total.HandedOver, outcome.HandedOver...)
	}
	slices.SortFunc(total.Failures, compareFailures)
	return total
}

// identity is what tells one cluster from another: its UID, or its name when that is
// not known.
func (r Request) identity(cluster string, sights map[string]sight) string {
	return cmp.Or(sights[cluster].snapshot.UID, r.UIDs[cluster], cluster)
}

// claims are the releases, by release.Key, that each cluster is to have, by its
// identity. None of them is removed, whoever had it before: a bundle or a cluster
// can get another name while the release keeps its own.
func (r Request) claims(sights map[string]sight) map[string]map[string]bool {
	claims := map[string]map[string]bool{}
	claim := func(cluster, namespace, name string) {
		identity := r.identity(cluster, sights)
		if claims[identity] == nil {
			claims[identity] = map[string]bool{}
		}
		claims[identity][release.Key(namespace, name)] = true
	}
	for _, d := range r.Write {
		claim(d.Cluster, d.Namespace, d.Release)
	}
	for _, key := range r.Keep {
		claim(key.Cluster, r.Prior[key].Namespace, r.Prior[key].Release)
	}
	return claims
}

func (r Request) byCluster() map[string]Request {
	parts := map[string]Request{}
	part := func(cluster string) Request {
		if found, ok := parts[cluster]; ok {
			return found
		}
		fresh := r
		fresh.Write, fresh.Remove = nil, nil
		return fresh
	}
	for _, d := range r.Write {
		changed := part(d.Cluster)
		changed.Write = append(changed.Write, d)
		parts[d.Cluster] = changed
	}
	for _, key := range r.Remove {
		changed := part(key.Cluster)
		changed.Remove = append(changed.Remove, key)
		parts[key.Cluster] = changed
	}
	return parts
}

func (s Settings) write(d target.Deployment, mark release.Mark) release.Write {
	timeout := s.Timeout
	if d.Options.Helm != nil && d.Options.Helm.TimeoutSeconds > 0 {
		timeout = time.Duration(d.Options.Helm.TimeoutSeconds) * time.Second
	}
	return release.Write{
		Mark:          mark,
		Wait:          s.Wait,
		Timeout:       timeout,
		MaxHistory:    s.MaxHistory,
		TakeOwnership: s.TakeOwnership,
		Description:   s.Description(d),
	}
}

func recordOf(d target.Deployment, written release.Written) Record {
	record := Record{
		Release:   written.Observed.Release,
		Namespace: written.Observed.Namespace,
		Chart:     written.Rendering.Chart,
		Version:   written.Rendering.Version,
		Digest:    d.Digest,
		State:     status.Ready,
		Objects:   written.Rendering.Hashes(),
	}
	if written.NotReady != nil {
		record.State, record.Message = status.NotReady, status.Message(written.NotReady.Error())
	}
	return record
}

func keyOf(d target.Deployment) Key { return Key{Cluster: d.Cluster, Bundle: d.Bundle.Name} }

func compareFailures(a, b Failure) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle))
}
