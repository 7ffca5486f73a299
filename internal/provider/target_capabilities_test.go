package provider

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// privateMap is private state in memory. It counts what is written.
type privateMap struct {
	values map[string][]byte
	writes int
}

func (p *privateMap) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p.values[key], nil
}

func (p *privateMap) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	if p.values == nil {
		p.values = map[string][]byte{}
	}
	p.values[key] = value
	p.writes++
	return nil
}

func TestAbilitiesSurvivePrivateState(t *testing.T) {
	t.Parallel()
	old := target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30+", APIs: []string{"apps/v1", "apps/v1/Deployment", "v1", "v1/Pod"}}
	recent := target.Capabilities{Version: "v1.31.0", Major: "1", Minor: "31", APIs: []string{"v1"}}
	tests := map[string]abilities{
		"nobody asks":    nil,
		"nobody answers": {},
		"some":           {"a": old, "b": recent, "c": old},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			private := &privateMap{}
			want.write(t.Context(), private, &diags)
			got := readAbilities(t.Context(), private, &diags)
			if diff := cmp.Diff(want, got); diff != "" || diags.HasError() {
				t.Errorf("(-want +got):\n%s%v", diff, diags)
			}
			got.remember(t.Context(), want, private, &diags)
			if private.writes != 1 {
				t.Errorf("%d writes although nothing changed", private.writes-1)
			}
			abilities{"d": old}.remember(t.Context(), want, private, &diags)
			if private.writes != 2 {
				t.Error("a change was not written")
			}
		})
	}
}

func TestAbilitiesTakeLittleRoom(t *testing.T) {
	t.Parallel()
	const clusters, apis, limit = 500, 400, 8 << 10
	set := target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30"}
	for i := range apis {
		set.APIs = append(set.APIs, fmt.Sprintf("group%d.example.com/v1", i/10), fmt.Sprintf("group%d.example.com/v1/Kind%d", i/10, i))
	}
	known := abilities{}
	for i := range clusters {
		known[fmt.Sprintf("cluster-%d", i)] = set
	}
	var diags diag.Diagnostics
	private := &privateMap{}
	known.write(t.Context(), private, &diags)
	if size := len(private.values[capabilitiesKey]); size > limit || diags.HasError() {
		t.Errorf("%d bytes for %d clusters %v", size, clusters, diags)
	}
}

// A cluster that does not answer keeps what is known of it, one whose connection is
// not known yet may be another one, and one that is gone is forgotten.
func TestAbilitiesOfClustersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	old, recent := target.Capabilities{Version: "v1.30.1"}, target.Capabilities{Version: "v1.31.0"}
	f := &fleet{settings: settings{clusters: map[string]*member{"up": {}, "down": {}, "fresh": {}, "unmade": {connectionUnknown: true}}}}
	f.engine = deploy.New(func(name string) (deploy.Cluster, error) {
		if name == "up" {
			return answering{capabilities: recent}, nil
		}
		return nil, &status.UnreachableError{Cluster: name, Err: errors.New("connection refused")}
	}, 1)
	known := abilities{"up": old, "down": old, "unmade": old, "gone": old}
	want := abilities{"up": recent, "down": old}
	if diff := cmp.Diff(want, f.lookAtAbilities(t.Context(), known)()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := f.lookAtAbilities(t.Context(), nil)(); found != nil {
		t.Errorf("clusters were asked although nobody wants to know: %v", found)
	}
}

type answering struct {
	deploy.Cluster

	capabilities target.Capabilities
}

func (a answering) Capabilities(context.Context) (target.Capabilities, error) {
	return a.capabilities, nil
}

func TestDeploysAfter(t *testing.T) {
	t.Parallel()
	needs := map[string][]string{"app": {"db", "queue"}, "db": {"operator"}, "queue": {"app"}, "other": {"db"}}
	if diff := cmp.Diff([]string{"app", "db", "operator", "queue"}, deploysAfter(needs, "app")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
