package acceptance_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A new user follows the tutorial literally: its commands work, and print what it shows.
func TestAccTutorial(t *testing.T) {
	t.Parallel()
	followTutorial(t, testenv.Shared(t))
}
