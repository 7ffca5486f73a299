package main

import (
	"errors"
	"os"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A new user runs the demo first, so it is tested unchanged. The test needs the provider in ./bin.
func TestAccDemo(t *testing.T) {
	testenv.Require(t)
	if os.Getenv("FLEET_TEST_KUBECONFIG") != "" { // The demo leaves its namespace, as a user expects.
		testenv.New(t, clusterCount).RemoveAfter(t, namespace)
	}
	t.Chdir("../..")
	if err := run(t.Context(), "local"); err != nil {
		t.Fatal(err)
	}
}

// The same demo with a real Fleet as engine. Its name excludes the test from the second run under
// OpenTofu in every change.
func TestAccEngineDemo(t *testing.T) {
	testenv.Require(t)
	t.Chdir("../..")
	err := run(t.Context(), engineKind)
	if errors.Is(err, testenv.ErrExternal) {
		t.Skip("a Fleet of tests runs on local control planes only")
	}
	if err != nil {
		t.Fatal(err)
	}
}
