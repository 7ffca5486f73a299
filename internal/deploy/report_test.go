package deploy_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestReportsNameAllObjects(t *testing.T) {
	t.Parallel()
	notReady := release.Finding{
		NotReady: []release.Unready{{Object: "Deployment web/a", Reason: "0 of 1"}, {Object: "Deployment web/b", Reason: "0 of 2"}},
	}
	tests := map[string]struct {
		state   status.State
		finding release.Finding
		want    string
	}{
		"nothing to name":     {status.Pending, release.Finding{}, "short"},
		"objects are why":     {status.NotReady, notReady, "Deployment web/a: 0 of 1; Deployment web/b: 0 of 2"},
		"objects are besides": {status.ErrApplied, notReady, "short; Deployment web/a: 0 of 1; Deployment web/b: 0 of 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := deploy.Key{Cluster: "a", Bundle: "web"}
			message := "short"
			if test.state == status.NotReady {
				_, message = status.FactsOf(test.finding).State()
			}
			found := deploy.Observation{
				Records:  map[deploy.Key]deploy.Record{key: {State: test.state, Message: message, Counts: status.Counts{NotReady: 2}}},
				Findings: map[deploy.Key]release.Finding{key: test.finding},
			}
			if got := found.Reports()["a/web"].Message; got != test.want {
				t.Errorf("the message is %q, want %q", got, test.want)
			}
		})
	}
}
