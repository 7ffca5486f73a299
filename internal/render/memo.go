package render

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// maxRemembered is the limit in bytes for the content of one memo.
const maxRemembered = 64 << 20

// memo caches the renderings of deployments, so that deployments with equal input on many clusters
// are rendered once. The zero value is empty. Its results are shared and must not be changed.
type memo[V interface{ size() int }] struct {
	running singleflight.Group

	mu   sync.Mutex
	made map[string]V
	used int // bytes
}

// get returns the result of create for the key. Failures are not cached.
func (m *memo[V]) get(ctx context.Context, key string, create func() (V, error)) (V, error) {
	if known, ok := m.known(key); ok {
		return known, nil
	}
	result, err, shared := m.running.Do(key, func() (_ any, err error) {
		defer panics.Recover("rendering", &err) // A panic below singleflight ends the process.
		made, err := create()
		if err == nil {
			m.remember(key, made)
		}
		return made, err
	})
	if err != nil && shared && ctx.Err() == nil { // The context of the first caller can have been cancelled.
		return recovered(create)
	}
	made, _ := result.(V)
	return made, err
}

// recovered calls create and returns a panic as an error.
func recovered[V any](create func() (V, error)) (made V, err error) {
	defer panics.Recover("rendering", &err)
	return create()
}

func (m *memo[V]) known(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made, ok := m.made[key]
	return made, ok
}

func (m *memo[V]) remember(key string, made V) {
	size := len(key) + made.size()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+size > maxRemembered {
		return
	}
	m.used += size
	if m.made == nil {
		m.made = map[string]V{}
	}
	m.made[key] = made
}

// planned is a rendering that a memo caches.
type planned struct{ release.Rendering }

func (p planned) size() int {
	size := 0
	for _, document := range p.Documents {
		size += len(document.Content)
	}
	return size
}

// planKey returns a key of everything that the rendering of a plan depends on. ok is false for a
// deployment without a digest, with values from the cluster, which are not known yet, or with
// write-only values, which the digest does not cover.
func planKey(d target.Deployment) (key string, ok bool) {
	if d.Digest == "" || d.LacksContent() {
		return "", false
	}
	parts := []string{d.Digest, d.Namespace, d.Release}
	if d.Capabilities != nil {
		parts = append(parts, capabilitiesKey(*d.Capabilities))
	}
	return strings.Join(parts, "\n"), true
}

// applyKey adds to planKey what else the rendering of a revision depends on.
func applyKey(planKey string, revision Revision) string {
	return strings.Join([]string{
		planKey, capabilitiesKey(revision.Capabilities), strconv.Itoa(revision.Number), strconv.FormatBool(revision.Upgrade),
	}, "\n")
}

func capabilitiesKey(c target.Capabilities) string {
	return strings.Join(append([]string{c.Version, c.Major, c.Minor, strconv.FormatBool(c.MayGrow)}, c.APIs...), "\n")
}
