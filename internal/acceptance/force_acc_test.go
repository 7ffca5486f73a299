package acceptance_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A plan and an apply say the same about a field that no update can change. With helm.force both
// replace the object, and nothing is left to do.
func TestAccForce(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(argument, options string) {
		t.Helper()
		job := s.bundleOf("one", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: one}\n"+
			"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: \"registry.k8s.io/pause:3.10\", args: [-v, "+argument+"]}]}}}\n")
		w.configure(t, s.provider("", on), strings.Replace(job, "files =", options+"\n  files =", 1), target("", "fleet_bundle.one.bundles"))
	}
	const field = ": spec.template"
	object := "Job.batch/" + s.namespace + "/one" + field
	configure("first", "")
	w.apply(t)

	configure("second", "")
	expectSays(t, w.run(t, "plan", "-input=false"), "fields cannot be changed", object, "set helm.force = true")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "no update can change these fields: "+object, "set helm.force = true")
	expectSays(t, w.run(t, "plan", "-input=false"), "fields cannot be changed", object)

	configure("second", "helm = { force = true }")
	expectSays(t, w.run(t, "plan", "-input=false"), "objects are deleted and created again", object)
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
