package main

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The pods of the demo run, and its web servers respond. The test needs the provider in ./bin.
func TestDemoOnRealNodes(t *testing.T) {
	testenv.RequireNodes(t)
	t.Chdir("../..")
	if err := run(t.Context(), realKind); err != nil {
		t.Fatal(err)
	}
}
