package fleet

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

var updateGuide = flag.Bool("update", false, "write the guide of the attributes anew") //nolint:gochecknoglobals // a flag of the test binary

const guideFile = "../../templates/guides/engine-attributes.md.tmpl"

const guideHead = `---
page_title: "Attributes with an engine"
subcategory: "Reference"
description: |-
  What each attribute does when a real Rancher Fleet delivers.
---

<!-- Made of internal/fleet/support.go by make generate. Change it there. -->

# Attributes with an engine

With ` + "`engine`" + ` in the provider block, a real Rancher Fleet delivers what targets want. This guide lists what each attribute does then.

| word | meaning |
|---|---|
| same | As without an engine. |
| differs | Another effect, or none. The plan succeeds. |
| error | The plan fails for the values in parentheses, or for any value. Other values do the same as without an engine. |

The options of ` + "`fleet_bundle`" + ` are also those of a ` + "`fleet.yaml`" + `, in camel case.
`

func guide() string {
	var b strings.Builder
	b.WriteString(guideHead)
	for _, section := range SupportTable() {
		title := "`" + section.Of + "`"
		if section.Of == "provider" {
			title = "Provider"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| attributes | effect | what differs |\n|---|---|---|\n", title)
		for _, row := range section.Rows {
			effect := string(row.Effect)
			if row.Values != "" {
				effect += " (" + row.Values + ")"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.Join(row.Attributes, "`, `"), effect, row.Text)
		}
	}
	return b.String()
}

// The guide contains the table. With -update, as in make generate, the test writes it.
func TestGuideOfAttributes(t *testing.T) {
	t.Parallel()
	if *updateGuide {
		if err := os.WriteFile(guideFile, []byte(guide()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(guideFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(guide(), string(written)); diff != "" {
		t.Errorf("%s is not the table; run make generate (-table +guide):\n%s", guideFile, diff)
	}
}

// The table names everything that Check and compose refuse.
func TestTableNamesRefusals(t *testing.T) {
	t.Parallel()
	var once []string
	for _, section := range SupportTable() {
		for _, row := range section.Rows {
			if (row.Effect == Same) != (row.Text == "") || (row.Values != "" && row.Effect != Refused) {
				t.Errorf("%s %v: an effect of %q does not fit the text %q and the values %q", section.Of, row.Attributes, row.Effect, row.Text, row.Values)
			}
			if row.Values != differingValues {
				continue
			}
			for _, attribute := range row.Attributes {
				parts := strings.Split(attribute, ".")
				for i := range parts {
					parts[i] = fleetyaml.FieldName(parts[i])
				}
				once = append(once, strings.Join(parts, "."))
			}
		}
	}
	want := slices.Sorted(slices.Values(notPerCluster))
	slices.Sort(once)
	if diff := cmp.Diff(want, once); diff != "" {
		t.Errorf("options that Fleet has once for all clusters (-checked +table):\n%s", diff)
	}
}
