package deploy_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestStatesOf(t *testing.T) {
	t.Parallel()
	key := func(cluster int) deploy.Key { return deploy.Key{Cluster: fmt.Sprint("c", cluster), Bundle: "web"} }
	outcome := deploy.Outcome{Records: map[deploy.Key]deploy.Record{}}
	var many []deploy.Key
	for i := range 11 {
		many = append(many, key(i))
		if i > 0 {
			outcome.Records[key(i)] = deploy.Record{Release: "web", Namespace: "shop", State: status.ErrApplied}
		}
	}
	asRead := func(clusters ...string) (keys []deploy.Key) {
		for _, cluster := range clusters {
			keys = append(keys, deploy.Key{Cluster: cluster, Bundle: "web"})
			outcome.Records[keys[len(keys)-1]] = deploy.Record{Release: "web", Namespace: "shop", State: status.Ready}
		}
		return keys
	}
	refused, unreachable := errors.New("refused"), &status.UnreachableError{Cluster: "c1", Err: errors.New("no route")}
	tests := map[string]struct {
		failed []deploy.Key
		err    error
		want   string
	}{
		"refused and ready": {asRead("r"), refused, "r/web is Ready (release web in namespace shop). All other deployments were finished and saved."},
		"unreachable and ready": {
			asRead("u"), fmt.Errorf("upgrading: %w", unreachable),
			"u/web stays as last read (release web in namespace shop). All other deployments were finished and saved.",
		},
		"unreachable during a write": {many[1:2], unreachable, "c1/web is ErrApplied (release web in namespace shop). All other deployments were finished and saved."},
		"many unreachable": {
			asRead("u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10"), unreachable,
			"As last read: 11 of them. All other deployments were finished and saved.",
		},
		"not deployed": {many[:1], refused, "c0/web is not deployed. All other deployments were finished and saved."},
		"two": {
			many[:2], refused,
			"c0/web is not deployed. c1/web is ErrApplied (release web in namespace shop). All other deployments were finished and saved.",
		},
		"many": {many, refused, "ErrApplied: 10 of them. Not deployed: 1 of them. All other deployments were finished and saved."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failures []deploy.Failure
			for _, key := range test.failed {
				failures = append(failures, deploy.Failure{Cluster: key.Cluster, Bundle: key.Bundle, Err: test.err})
			}
			if diff := cmp.Diff(test.want, outcome.StatesOf(deploy.Cause{Failures: failures})); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}
