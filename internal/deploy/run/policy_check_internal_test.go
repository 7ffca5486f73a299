package run

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// quoting is a policy that quotes a value of what is written.
type quoting struct {
	deploy.Policies

	value string
}

func (quoting) NeedsObjects(target.Deployment) bool { return true }

func (q quoting) Written(target.Deployment, []diff.Document) []policy.Violation {
	return []policy.Violation{{Text: "the image " + q.value + " is not allowed", Action: policy.Warn}}
}

// A policy quotes no text that templates have made of a secret.
func TestViolationsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	const value = "evil.io/68756e746572"
	w := &deploymentWrite{run: &clusterRun{request: &Request{Policies: quoting{value: value}}, results: &results{}}}
	masker := &mask.Masker{}
	masker.Add(value)
	if err := w.check()(nil, masker.Text); err != nil {
		t.Errorf("refused: %v", err)
	}
	if warned := w.run.results.warned; len(warned) != 1 || strings.Contains(warned[0].Text, value) {
		t.Errorf("the violations are %+v", warned)
	}
}
