package run

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A record without a rendering, as of a release that is only marked again, names no hidden object.
func TestKeptRecordHidesNames(t *testing.T) {
	t.Parallel()
	d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "v1-a"}
	named := release.Rendering{Objects: []diff.Object{{Kind: "ConfigMap", Namespace: "ns", Name: "hidden"}}}
	hidden := named
	hidden.HidesNames = true
	prior := recordOfWrite(d, release.Written{Rendering: hidden}, release.Proof{})
	prior.State = status.Ready
	w := &deploymentWrite{d: d, prior: prior, key: deploy.KeyOf(d), run: &clusterRun{request: &Request{Prior: map[deploy.Key]deploy.Record{deploy.KeyOf(d): prior}}}}
	record := recordOfWrite(d, release.Written{Rendering: named}, release.Proof{})
	if err := w.adopt(t.Context(), &record, release.Written{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, isNamed := record.Objects[named.Objects[0].Key()]; isNamed || !record.HidesNames || len(record.Objects) != 1 {
		t.Errorf("the record has %v", record.Objects)
	}
}
