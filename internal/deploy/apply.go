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
	// Write are the deployments to install, upgrade or adopt. One that is unpinned
	// is pinned to the versions of the objects that its values come from.
	Write []target.Deployment
	// Remove are the deployments to uninstall.
	Remove []Key
	// Prior is what was known before of any of them.
	Prior    map[Key]Record
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
}

// Versions says which revision of an object values came from.
type Versions = map[target.Reference]string

// Apply carries a request out, cluster by cluster in parallel. A failure
// concerns one deployment; the others go on. When ctx ends nothing new is
// started, and what runs is brought to an end.
func (e *Engine) Apply(ctx context.Context, request Request) Outcome {
	work := request.byCluster()
	outcomes := make(chan Outcome, len(work))
	var running sync.WaitGroup
	for cluster, part := range work {
		running.Go(func() { outcomes <- e.applyCluster(ctx, cluster, part) })
	}
	running.Wait()
	close(outcomes)

	total := Outcome{Records: map[Key]Record{}, Versions: map[string]Versions{}}
	for outcome := range outcomes {
		maps.Copy(total.Records, outcome.Records)
		maps.Copy(total.Versions, outcome.Versions)
		total.Failures = append(total.Failures, outcome.Failures...)
	}
	slices.SortFunc(total.Failures, compareFailures)
	return total
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
