package render

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// mostRemembered bounds in bytes the renderings that are remembered.
const mostRemembered = 64 << 20

// renderings remembers what deployments were planned to, so that clusters of equal input are
// rendered once. The zero value is empty.
type renderings struct {
	running singleflight.Group

	mu   sync.Mutex
	made map[string]release.Rendering
	size int
}

// get returns the rendering of a deployment, which create makes unless it is remembered.
// Failures are not remembered.
func (r *renderings) get(ctx context.Context, d target.Deployment, create func() (release.Rendering, error)) (release.Rendering, error) {
	key, ok := renderingKey(d)
	if !ok {
		return create()
	}
	if known, ok := r.known(key); ok {
		return known, nil
	}
	result, err, shared := r.running.Do(key, func() (any, error) {
		made, err := guarded(create)
		if err == nil {
			r.remember(key, made)
		}
		return made, err
	})
	if err != nil && shared && ctx.Err() == nil { // The one that was first can have given up.
		return create()
	}
	made, _ := result.(release.Rendering)
	return made, err
}

// guarded turns a panic into an error. One below singleflight would end the process.
func guarded(create func() (release.Rendering, error)) (made release.Rendering, err error) {
	defer func() {
		if raised := recover(); raised != nil {
			err = fmt.Errorf("rendering: panic: %v", raised)
		}
	}()
	return create()
}

// renderingKey names everything that a rendering depends on. Values that come from the
// cluster are not known before.
func renderingKey(d target.Deployment) (key string, ok bool) {
	if d.Digest == "" || len(d.ValuesFrom()) > 0 {
		return "", false
	}
	parts := []string{d.Digest, d.Namespace, d.Release}
	if c := d.Capabilities; c != nil {
		parts = append(append(parts, c.Version, c.Major, c.Minor), c.APIs...)
	}
	return strings.Join(parts, "\n"), true
}

func (r *renderings) known(key string) (release.Rendering, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	made, ok := r.made[key]
	return made, ok
}

func (r *renderings) remember(key string, made release.Rendering) {
	size := len(key)
	for _, document := range made.Documents {
		size += len(document.Content)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size += size; r.size > mostRemembered {
		r.size -= size
		return
	}
	if r.made == nil {
		r.made = map[string]release.Rendering{}
	}
	r.made[key] = made
}
