package acceptance_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The tutorial works the same where pods run.
func TestTutorialOnRealNodes(t *testing.T) {
	t.Parallel()
	followTutorial(t, testenv.SharedNodes(t))
}
