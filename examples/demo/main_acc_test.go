package main

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The demo is what a newcomer runs first, so it is tested as it is. It needs the
// provider in ./bin.
func TestAccDemo(t *testing.T) {
	testenv.Require(t)
	t.Chdir("../..")
	if err := run(t.Context(), "local"); err != nil {
		t.Fatal(err)
	}
}
