package deploy

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
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
	w := &deploymentWrite{d: d, prior: prior, key: KeyOf(d), run: &clusterRun{request: &Request{Prior: map[Key]Record{KeyOf(d): prior}}}}
	record := recordOfWrite(d, release.Written{Rendering: named}, release.Proof{})
	if err := w.adopt(t.Context(), &record, release.Written{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, isNamed := record.Objects[named.Objects[0].Key()]; isNamed || !record.HidesNames || len(record.Objects) != 1 {
		t.Errorf("the record has %v", record.Objects)
	}
}

// quoting is a policy that quotes a value.
type quoting struct{ value string }

func (q quoting) Planned(target.Deployment, release.Rendering) ([]policy.Violation, error) {
	return q.Written(target.Deployment{}, nil), nil
}

func (quoting) NeedsObjects(target.Deployment) bool { return true }

func (q quoting) Written(target.Deployment, []diff.Document) []policy.Violation {
	return []policy.Violation{{Text: "the image " + q.value + " is not allowed"}}
}

// A policy quotes no text that templates have made of a secret.
func TestViolationsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	const value = "evil.io/68756e746572"
	p := &Plan{}
	if err := p.checkPolicies(target.Deployment{}, release.Rendering{HiddenTexts: []string{value}}, quoting{value}); err != nil {
		t.Fatal(err)
	}
	w := &deploymentWrite{run: &clusterRun{request: &Request{Policies: quoting{value}}, results: &results{}}}
	masker := &mask.Masker{}
	masker.Add(value)
	if err := w.check()(nil, masker.Text); err != nil && strings.Contains(err.Error(), value) {
		t.Errorf("refused: %v", err)
	}
	for _, violation := range append(p.Violations, w.run.results.warned...) {
		if strings.Contains(violation.Text, value) {
			t.Errorf("the violation is %q", violation.Text)
		}
	}
}
