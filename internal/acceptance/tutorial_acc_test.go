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

// The example of the first page runs as it is printed there, and is removed by a destroy.
func TestAccFirstExample(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	r := newReader(t, env)
	s := newFixture(t, env)
	s.namespace = "hello"
	r.write(t, "main.tf", read(t, "../../examples/provider/first.tf"))
	r.follow(t, page(t, "../../templates/index.md.tmpl"))
	for i := range 2 {
		s.expectReleases(t, i, "apps-hello")
	}
	r.run(t, "terraform destroy")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}
