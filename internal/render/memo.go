package render

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// maxRemembered is the limit in bytes for the content of one memo.
const maxRemembered = 64 << 20

// memo caches the renderings of deployments, so that deployments with equal input on many clusters
// are rendered once. The zero value is empty. Its results are shared and must not be changed.
type memo[V interface{ size() int }] struct {
	running fetch.Group[V]

	mu   sync.Mutex
	made map[string]V
	used int // bytes
}

// get returns the result of create for the key. Failures are not cached.
func (m *memo[V]) get(ctx context.Context, key string, create func(context.Context) (V, error)) (V, error) {
	if known, ok := m.known(key); ok {
		return known, nil
	}
	return m.running.Do(ctx, key, "rendering", func(ctx context.Context) (V, error) {
		made, err := create(ctx)
		if err == nil {
			m.remember(key, made)
		}
		return made, err
	})
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
