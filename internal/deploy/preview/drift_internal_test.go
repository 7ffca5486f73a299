package preview

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Drift shows values as changes do: texts from HCL and values of Secrets are masked, long values are
// cut.
func TestDriftIsShownAsChangesAre(t *testing.T) {
	t.Parallel()
	document := func(kind, content string) []diff.Document {
		return []diff.Document{{Object: diff.Object{Kind: kind, Name: "web"}, Content: `{"apiVersion":"v1","kind":"` + kind + `","metadata":{},` + content + `}`}}
	}
	config := func(data string) []diff.Document { return document("ConfigMap", `"data":`+data) }
	secret := func(value string) []diff.Document { return document("Secret", `"stringData":{"password":"`+value+`"}`) }
	deployed := config(`{"key":"deployed","number":2}`)
	long := strings.Repeat("x", 300)
	tests := map[string]struct {
		mode    plan.DiffMode
		drift   release.Compared
		changed sides
		listed  bool
		title   string
		want    []string
		missing bool
	}{
		"a value": {
			drift: release.Compared{Before: config(`{"key":"edited","number":5}`), After: deployed}, changed: sides{before: deployed, after: deployed}, title: "objects ~1",
			want: []string{"~ ConfigMap/web: data", "- key: edited", "- number: 5", "+ key: deployed", "+ number: 2"},
		},
		"a text from HCL": {
			drift:   release.Compared{Before: config(`{"key":"edited","number":2}`), After: deployed},
			changed: sides{before: deployed, after: deployed, texts: diff.HCLSides{Before: diff.HCLText{Texts: []string{"deployed"}}}},
			title:   "objects ~1", want: []string{"~ ConfigMap/web: data", "- key: edited", "+ key: (from HCL, changed)"},
		},
		"files from HCL": {
			drift:   release.Compared{Before: config(`{"key":"edited","number":5}`), After: deployed},
			changed: sides{before: deployed, after: deployed, texts: diff.HCLSides{Before: diff.HCLText{All: true}}},
			title:   "objects ~1", want: []string{"~ ConfigMap/web: data", "- key: (from HCL)", "- number: 5", "+ key: (from HCL, changed)", "+ number: 2"},
		},
		"a Secret": {
			mode: plan.DiffRendered, drift: release.Compared{Before: secret("edited"), After: secret("deployed")}, changed: sides{before: secret("deployed"), after: secret("deployed")},
			title: "objects ~1", want: []string{"@@ -2,4 +2,4 @@ Secret/web", " kind: Secret", " metadata: {}", " stringData:", "-  password: (sensitive value)", "+  password: (sensitive value, changed)"},
		},
		"a long value": {
			drift: release.Compared{Before: config(`{"key":"` + long + `"}`), After: deployed}, changed: sides{before: deployed, after: deployed}, title: "objects ~1",
			want: []string{"~ ConfigMap/web: data", "- key: " + long[:193] + "... 107 bytes left out", "+ key: deployed", "+ number: 2"},
		},
		"a change as well": {
			drift: release.Compared{Before: config(`{"key":"edited","number":2}`), After: deployed}, changed: sides{before: deployed, after: config(`{"key":"deployed","number":3}`)},
			title: "objects ~2", want: []string{"~ ConfigMap/web: data", "- key: edited", "+ key: deployed", "~ ConfigMap/web: data", "- number: 2", "+ number: 3"},
		},
		"an object is missing":          {drift: release.Compared{After: deployed}, changed: sides{before: deployed, after: deployed}},
		"content that must not be read": {drift: release.Compared{Before: config(`{"key":"edited"}`), After: deployed}, changed: sides{before: deployed, after: deployed}, listed: true},
		"it cannot be read":             {drift: release.Compared{Err: errors.New("no route")}, changed: sides{before: deployed, after: deployed}, missing: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.mode == "" {
				test.mode = plan.DiffAuto
			}
			key := deploy.Key{Cluster: "a", Bundle: "web"}
			c := &diffPreview{Request: Request{Diff: test.mode}, listed: map[deploy.Key]map[string]string{key: {}}, compared: map[[32]byte][]diff.ObjectChange{}}
			change := comparedChange{key: key, wanted: &target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}}, drift: test.drift}
			preview := diff.Preview{Kind: diff.Modified, Listed: test.listed}
			c.add(change, preview, c.withDrift(&preview, change, test.changed)...)
			if c.report.NotCompared.IsEmpty() == test.missing {
				t.Errorf("not compared: %s", c.report.NotCompared.List())
			}
			var got []string
			for _, shown := range c.report.Diffs {
				_, text := shown.Parts()
				got = append(got, strings.Split(text, "\n")...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := diff.Join(c.report.Diffs); !strings.Contains(text, test.title) {
				t.Errorf("no %q in:\n%s", test.title, text)
			}
		})
	}
}

// Only drift that an apply corrects is compared.
func TestDriftThatAPlanCorrects(t *testing.T) {
	t.Parallel()
	key := deploy.Key{Cluster: "a", Bundle: "web"}
	tests := map[string]struct {
		change   comparedChange
		status   release.Status
		modified int
		want     bool
	}{
		"edited":                  {change: comparedChange{key: key, wanted: &target.Deployment{}}, status: release.StatusDeployed, modified: 1, want: true},
		"as deployed":             {change: comparedChange{key: key, wanted: &target.Deployment{}}, status: release.StatusDeployed},
		"removed":                 {change: comparedChange{key: key}, status: release.StatusDeployed, modified: 1},
		"the last upgrade failed": {change: comparedChange{key: key, wanted: &target.Deployment{}}, status: release.StatusFailed, modified: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &diffPreview{prior: map[deploy.Key]deploy.Record{key: {Counts: status.Counts{Modified: test.modified}}}}
			if got := c.corrects(test.change, release.Observed{Status: test.status}); got != test.want {
				t.Errorf("corrects = %t, want %t", got, test.want)
			}
		})
	}
}
