package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// The output of templates is read within the limits of a values file.
func TestTemplatedValuesAreBounded(t *testing.T) {
	t.Parallel()

	doubling := "      a0: &a0 [${ \"x\" }]\n"
	for i := range 30 {
		doubling += fmt.Sprintf("      a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	tests := map[string]struct{ definition, want string }{
		"a short text":                  {definition: "helm: {values: {a: '${ repeat 10 \"x\" }'}}"},
		"a long text in values":         {definition: "helm: {values: {a: '${ repeat 5000000 \"x\" }'}}", want: "larger than 4 MiB"},
		"a long text in templateValues": {definition: "helm: {templateValues: {a: '${ repeat 5000000 \"x\" }'}}", want: "larger than 4 MiB"},
		"aliases that double":           {definition: "helm:\n  templateValues:\n    a: |\n" + doubling, want: "larger than 16 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := evaluate(t, templates.InProcess{}, []target.Cluster{cluster("a", "env=dev")}, parsed(t, "web", test.definition))
			failure, failed := got["a/web"].(string)
			if failed != (test.want != "") || !strings.Contains(failure, test.want) {
				t.Errorf("got %.200v, want an error with %q", got["a/web"], test.want)
			}
		})
	}
}
