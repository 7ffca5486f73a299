package planreport_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var update = flag.Bool("update", false, "write the reports of testdata again") //nolint:gochecknoglobals // a flag of the test binary

func key(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

func deployment(cluster, name, digest string) target.Deployment {
	return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: name}, Namespace: "shop", Release: name, Digest: digest}
}

func record(name, digest string, objects map[string]string) deploy.Record {
	return deploy.Record{Namespace: "shop", Release: name, Chart: name, Version: "1.0.0", Digest: digest, State: status.Ready, Objects: objects}
}

func configMap(name, color string) string {
	return "apiVersion: v1\ndata:\n  color: " + color + "\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// mixed returns a plan in which each action occurs.
func mixed() planreport.Input {
	var (
		web      = map[string]string{"ConfigMap/shop/web": "aaa", "Deployment.apps/shop/web": "bbb", "Service/shop/web": "ccc"}
		webAfter = map[string]string{"ConfigMap/shop/web": "ddd", "Deployment.apps/shop/web": "bbb", "Deployment.apps/shop/api": ""}
		logs     = map[string]string{"ConfigMap/shop/logs": "eee"}
	)
	paused := deployment("eu-2", "logs", "v1-new")
	plan := &plan.Plan{
		Change: plan.Change{
			Write:  []target.Deployment{deployment("eu-1", "web", "v1-new"), deployment("eu-2", "web", "v1-new"), deployment("us-1", "web", "v1-new"), deployment("us-1", "random", "v1-r")},
			Keep:   map[deploy.Key]bool{key("eu-1", "logs"): true, key("eu-2", "logs"): true},
			Remove: []deploy.Key{key("old", "web")},
			Held: []deploy.Failure{
				{Cluster: "eu-2", Bundle: "logs", Err: &rollout.HeldError{Reason: "the bundle or the cluster is paused"}},
				{Cluster: "us-1", Bundle: "logs", Err: errors.New("templates/x.yaml: no value | `x`")},
			},
			Unchanged: []rollout.Step{
				{Deployment: deployment("eu-1", "logs", "v1-l"), State: "Ready"},
				{Deployment: paused, State: "Ready", Change: true, Held: &rollout.HeldError{Reason: "the bundle or the cluster is paused"}},
			},
		},
		Unreachable: []string{"lost"},
		Renderings: map[deploy.Key]release.Rendering{
			key("eu-1", "web"): {Chart: "web", Version: "1.1.0"}, key("eu-2", "web"): {Chart: "web", Version: "1.1.0"}, key("us-1", "web"): {Chart: "web", Version: "1.1.0"},
		},
		Objects: map[deploy.Key]map[string]string{key("eu-1", "web"): webAfter, key("eu-2", "web"): webAfter, key("us-1", "web"): webAfter},
	}
	// They run one after the other: us-1 has a dependency.
	plan.Write[3].Bundle.Definition.DependsOn = []fleetyaml.Dependency{{Name: "web"}}
	plan.Order = orderOf(plan.Write)
	plan.Unknown.Add("templates/pass.yaml uses randAlphaNum", "us-1/random")
	changed := diff.Preview{Bundle: "web", Kind: diff.Modified, Objects: []diff.ObjectChange{
		{Key: "ConfigMap/shop/web", Before: configMap("web", "blue"), After: configMap("web", "green")},
		{Key: "Service/shop/web", Before: "kind: Service\n"},
	}}
	found := preview.DiffReport{}
	for _, cluster := range []string{"eu-2", "eu-1"} {
		changed.Cluster = cluster
		found.Diffs = append(found.Diffs, changed.Diff())
	}
	found.Diffs = append(found.Diffs,
		diff.Preview{Cluster: "us-1", Bundle: "web", Kind: diff.Added, Notes: []string{"Service/shop/x is adopted"}, Objects: []diff.ObjectChange{{Key: "x", After: "x"}}}.Diff(),
		diff.Preview{Cluster: "old", Bundle: "web", Kind: diff.Removed, Objects: []diff.ObjectChange{{Key: "ConfigMap/shop/web", Before: "x", Stays: true}}}.Diff(),
	)
	found.NotCompared.Add("the cluster does not respond", "us-1/random")
	masker := &mask.Masker{}
	masker.Add("kiwi-7f3a91")
	return planreport.Input{
		Owner: "platform", Name: "prod", Operation: planreport.Update, Plan: plan, Diff: found, Shown: masker.Shown,
		Prior: map[deploy.Key]deploy.Record{
			key("eu-1", "web"): record("web", "v1-old", web), key("eu-2", "web"): record("web", "v1-old", nil), key("old", "web"): record("web", "v1-old", web),
			key("eu-1", "logs"): record("logs", "v1-l", logs), key("eu-2", "logs"): record("logs", "v1-old", logs), key("lost", "logs"): record("logs", "v1-l", logs),
		},
		Clusters: []target.Cluster{
			{Name: "eu-1", Labels: map[string]string{"env": "prod", "region": "eu"}},
			{Name: "eu-2", Labels: map[string]string{"env": "prod", "note": "kiwi-7f3a91"}},
			{Name: "us-1", Labels: map[string]string{"env": "test"}},
			{Name: "unused"},
		},
		Groups: []target.Group{
			{Name: "prod", Selector: fleetyaml.Selector{MatchLabels: map[string]string{"env": "prod"}}},
			{Name: "europe", Selector: fleetyaml.Selector{MatchLabels: map[string]string{"region": "eu"}}},
		},
		Sources: []planreport.Source{
			{Bundle: "web", Repository: "https://git.example.com/fleet", CommitBefore: "0c51aa7e22d1b81f20d6c3ee4f0d1c2b9a77e02c", CommitAfter: "91c3d27fe00477d20b91fa4c5be0ac881d87aa01", Subject: "Paint it kiwi-7f3a91", Author: "Jane\u202e Doe"},
			{Bundle: "logs", Repository: "https://git.example.com/fleet", CommitBefore: "0c51aa7e22d1b81f20d6c3ee4f0d1c2b9a77e02c", CommitAfter: "0c51aa7e22d1b81f20d6c3ee4f0d1c2b9a77e02c"},
			{Bundle: "unused", Repository: "https://git.example.com/other", CommitBefore: "0c51aa7e22d1b81f20d6c3ee4f0d1c2b9a77e02c"},
		},
		Warnings: []planreport.Warning{{Summary: "Target prod: objects move", Detail: "  - x\n\npassword kiwi-7f3a91\u202e"}},
	}
}

// orderOf returns the order in which new deployments begin.
func orderOf(write []target.Deployment) []rollout.Stage {
	return plan.Compare(plan.Desired{Deployments: write}, nil, false).Order
}

func created(write ...target.Deployment) plan.Change {
	return plan.Change{Write: write, Order: orderOf(write)}
}

// takenOver returns a plan that takes one release over and could not compare another.
func takenOver() planreport.Input {
	objects := map[string]string{"ConfigMap/shop/web": "c2", "Deployment.apps/shop/web": "d2", "Service/shop/web": "s1"}
	in := planreport.Input{
		Owner: "platform", Name: "prod", Operation: planreport.Create, Shown: mask.Printable,
		Plan: &plan.Plan{
			Change:  created(deployment("eu-1", "web", "v1-new"), deployment("eu-2", "web", "v1-new"), deployment("us-1", "web", "v1-new")),
			Objects: map[deploy.Key]map[string]string{key("eu-1", "web"): objects, key("eu-2", "web"): objects, key("us-1", "web"): objects},
		},
		Diff: preview.DiffReport{TakenOver: map[deploy.Key]map[string]bool{
			key("eu-1", "web"): {"Deployment.apps/shop/web": true, "Service/shop/web": false}, key("eu-2", "web"): nil,
		}},
	}
	in.Diff.Diffs = append(in.Diff.Diffs, diff.Preview{
		Cluster: "eu-1", Bundle: "web", Kind: diff.Modified, Notes: []string{"it is taken over, and compared with the live objects"},
		Objects: []diff.ObjectChange{{Key: "Deployment.apps/shop/web", Before: "spec:\n  replicas: 5\n", After: "spec:\n  replicas: 2\n"}},
	}.Diff())
	in.Diff.NotCompared.Add("the cluster does not respond", "eu-2")
	return in
}

// hostile returns a plan whose names and texts try to be more than text.
func hostile() planreport.Input {
	const (
		name   = "</script><script>alert(1)</script>"
		bundle = "]]>`|\u202e<img src=x onerror=alert(1)>"
		object = "ConfigMap/@admin/</details>```\n# title\u2028www.example.com"
	)
	text := "</details></script>\n````\n<!-- --><script>alert(1)</script>|| [x](javascript:alert(1)) @admin #1"
	in := planreport.Input{
		Owner: "o", Name: name, Operation: planreport.Create, Shown: (&mask.Masker{}).Shown,
		Plan: &plan.Plan{
			Change:  created(deployment(name, bundle, "v1-x"), deployment("a", bundle, "v1-x")),
			Objects: map[deploy.Key]map[string]string{key(name, bundle): {object: "x"}, key("a", bundle): {}},
		},
		Prior:    map[deploy.Key]deploy.Record{key(name, bundle): record("web", "v1-old", map[string]string{object: "y"})},
		Clusters: []target.Cluster{{Name: name, Labels: map[string]string{"<b>": "</script>\u2029"}}},
		Warnings: []planreport.Warning{{Summary: text, Detail: text}},
		Sources:  []planreport.Source{{Bundle: bundle, Repository: text, CommitAfter: text, Subject: text, Author: name}},
	}
	in.Diff.Diffs = append(in.Diff.Diffs, diff.Preview{
		Cluster: name, Bundle: bundle, Kind: diff.Modified, Notes: []string{text}, Objects: []diff.ObjectChange{{Key: object, Before: "a: 1\n", After: "a: " + text + "\n"}},
	}.Diff())
	return in
}

// written writes entries to a file and returns its content.
func written(t *testing.T, name string, entries ...planreport.Target) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writer, err := planreport.Open(path, "o")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := writer.Add(entry, true); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestGolden compares the JSON and the Markdown of plans. After a run with -update, read the new
// files.
func TestGolden(t *testing.T) {
	t.Parallel()
	unknown := mixed()
	unknown.Plan, unknown.Unknown = nil, "labels or other facts of cluster eu-3"
	destroyed := mixed()
	destroyed.Operation, destroyed.Name, destroyed.Diff, destroyed.Warnings = planreport.Destroy, "staging", preview.DiffReport{}, nil
	destroyed.Plan = plan.Removal(destroyed.Prior)
	for name, inputs := range map[string][]planreport.Input{
		"mixed": {mixed()}, "taken-over": {takenOver()}, "hostile": {hostile()}, "unknown": {unknown}, "several": {mixed(), destroyed},
		"nothing": {{Owner: "o", Name: "empty", Operation: planreport.Update, Plan: &plan.Plan{}, Shown: mask.Printable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []planreport.Target
			for _, in := range inputs {
				entries = append(entries, planreport.Planned(in))
			}
			got := &txtar.Archive{}
			for _, file := range []string{"plan.json", "plan.md"} {
				got.Files = append(got.Files, txtar.File{Name: file, Data: []byte(normal(written(t, file, entries...)))})
			}
			path := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
				t.Errorf("reports (-want +got):\n%s", diff)
			}
		})
	}
}

// normal replaces the parts of a report that differ from run to run.
func normal(text string) string {
	text = regexp.MustCompile(`("planned_at": )"[^"]*"`).ReplaceAllString(text, `$1"2026-11-23T14:02:03Z"`)
	return regexp.MustCompile(`("run": )"[^"]*"`).ReplaceAllString(text, `$1"0123456789ab"`)
}
