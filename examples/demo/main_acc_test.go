package main

import (
	"errors"
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

// The same story with a real Fleet as engine. Its name keeps it out of what runs once more under
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
