package browsertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

// written writes a report and returns its path.
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
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

const diffText = "~ ConfigMap/shop/web-config: data\n- replicas: \"3\"\n+ replicas: \"5\"\n" +
	"~ Deployment.apps/shop/web: spec.template.spec.containers[web]\n- image: registry.example.com/web:1.4.2\n+ image: registry.example.com/web:1.5.0"

// fleetOf returns a plan with these numbers of clusters and bundles. Its first bundle changes in
// stages. Its second bundle is added or held on some clusters, and one cluster is removed.
func fleetOf(clusters, bundles int) planreport.Target {
	names := []string{"web", "api", "cert-manager", "ingress-nginx", "logging", "metrics", "external-dns", "velero", "kyverno", "argo-rollouts"}
	made := planreport.Target{
		Owner: "platform-prod", Name: "prod", Operation: planreport.Update, PlannedAt: time.Date(2026, 11, 23, 14, 2, 3, 0, time.UTC),
		Stages: []planreport.Stage{}, Warnings: []planreport.Warning{}, Diffs: map[string]string{"d1": diffText},
		Sources: []planreport.Source{{
			Bundle: "web", Repository: "https://github.com/acme/fleet", CommitBefore: "4be0ac881d870c51aa7e22d1b81f20d6c3ee5f0d", CommitAfter: "91c3d27fe00477d20b91fa4ce02c4a96b15d3ad9",
			Subject: "Release web 1.5.0", Author: "Jane Doe",
		}},
	}
	for b := range bundles {
		if b >= len(names) {
			names = append(names, fmt.Sprintf("team-%02d-app", b))
		}
	}
	made.Bundles = names[:bundles]
	stages := make([][]string, 3)
	regions := []string{"eu", "us", "ap"}
	for c := range clusters {
		region := regions[c%len(regions)]
		name := fmt.Sprintf("%s-%d", region, c/len(regions)+1)
		groups := []string{"production"}
		if c < 3 {
			groups = []string{"canary"}
		}
		made.Clusters = append(made.Clusters, planreport.Cluster{Name: name, Labels: map[string]string{"region": region, "env": "prod"}, Groups: groups})
		for b, bundle := range made.Bundles {
			d := planreport.Deployment{
				Cluster: name, Bundle: bundle, Action: planreport.Keep, Namespace: bundle, Release: bundle, Chart: bundle, Version: "1.4.2", DigestBefore: "v1-4be0ac881d87", Unchanged: 12,
			}
			switch {
			case c == clusters-1:
				d.Action, d.Unchanged = planreport.Remove, 0
				d.Objects = []planreport.Object{{Key: "Deployment.apps/" + bundle + "/" + bundle, Change: planreport.ObjectRemoved, Before: "5f0d1c2b9a77"}}
			case b == 0:
				stage := min(c/3, 2)
				d.Action, d.Stage, d.Diff, d.DigestAfter, d.Version, d.Unchanged = planreport.Change, stage+1, "d1", "v1-91c3d27fe004", "1.5.0", 7
				d.Objects = []planreport.Object{
					{Key: "ConfigMap/shop/web-config", Change: planreport.ObjectChanged, Before: "0c51aa7e22d1", After: "b81f20d6c3ee"},
					{Key: "Deployment.apps/shop/web", Change: planreport.ObjectChanged, Before: "77d20b91fa4c", After: "e02c4a96b15d"},
					{Key: "PodDisruptionBudget.policy/shop/web", Change: planreport.ObjectAdded, After: "3ad90e1174bc"},
				}
				stages[stage] = append(stages[stage], name+"/"+bundle)
			case b == 1 && c%4 == 1:
				d.Action, d.Stage, d.DigestBefore, d.DigestAfter, d.Unchanged = planreport.Add, 1, "", "v1-aa01", 0
				d.Objects = []planreport.Object{{Key: "Service/api/api", Change: planreport.ObjectAdded, After: "aa01"}}
				stages[0] = append(stages[0], name+"/"+bundle)
			case b == 2 && c%5 == 2:
				d.Action, d.Reason = planreport.Held, "the bundle or the cluster is paused"
			case b == 4 && c == 4:
				d.Action, d.Stage, d.ObjectsUnknown, d.Unchanged = planreport.Add, 1, true, 0
				stages[0] = append(stages[0], name+"/"+bundle)
			}
			count(&made.Summary, d.Action)
			made.Deployments = append(made.Deployments, d)
		}
	}
	for i, text := range []string{"api on ap-2, eu-4, us-1; logging on us-2; web on ap-1, eu-1, us-1 (partition canary)", "web on ap-2, eu-2, us-2 (partition first)", "web on ap-3, eu-3, eu-4, us-3, us-4 (partition rest)"} {
		if len(stages[i]) > 0 {
			made.Stages = append(made.Stages, planreport.Stage{Text: text, Deployments: stages[i]})
		}
	}
	warning := planreport.Warning{Summary: "Target prod: API servers do not know some fields", Detail: "  - web: Deployment.apps/shop/web: spec.replicsa"}
	if made.Summary.Held > 0 {
		warning = planreport.Warning{Summary: "Target prod: deployments are held", Detail: "  - cert-manager: the bundle or the cluster is paused"}
	}
	made.Warnings = append(made.Warnings, warning)
	return made
}

// takingOver returns the plan with its change of cert-manager on eu-1 as one that takes a release over.
func takingOver(of planreport.Target) planreport.Target {
	for i := range of.Deployments {
		d := &of.Deployments[i]
		if d.Cluster != "eu-1" || d.Bundle != "cert-manager" {
			continue
		}
		d.Action, d.TakenOver, d.Stage, d.Notes = planreport.Change, true, 1, []string{"it is taken over, and compared with the live objects"}
		d.Objects = []planreport.Object{{Key: "Deployment.apps/cert-manager/cert-manager", Change: planreport.ObjectChanged, After: "77d20b91fa4c"}}
		of.Summary.Keep--
		of.Summary.Change++
		of.Summary.TakenOver++
	}
	return of
}

// removingNothing returns the plan with the removed cluster as one that stays as it is.
func removingNothing(of planreport.Target) planreport.Target {
	for i := range of.Deployments {
		if d := &of.Deployments[i]; d.Action == planreport.Remove {
			d.Action, d.Objects, d.Unchanged = planreport.Keep, nil, 12
			of.Summary.Remove--
			of.Summary.Keep++
		}
	}
	return of
}

// allChange returns a plan in which each deployment changes. Each bundle has this number of different
// changes, and each of them has these numbers of lines and of objects.
func allChange(clusters, bundles, different, lines, objects int) planreport.Target {
	made := fleetOf(clusters, bundles)
	made.Summary = planreport.Summary{Change: len(made.Deployments)}
	for i := range made.Deployments {
		d := &made.Deployments[i]
		number := i / bundles % different
		d.Action, d.Reason, d.Stage, d.Objects, d.ObjectsUnknown = planreport.Change, "", 1, nil, false
		d.Diff = fmt.Sprintf("%s-%d", d.Bundle, number)
		for o := range objects {
			d.Objects = append(d.Objects, planreport.Object{
				Key: fmt.Sprintf("Deployment.apps/%s/%s-%02d", d.Bundle, d.Bundle, o), Change: planreport.ObjectChanged, Before: fmt.Sprintf("77d20b%06d", o), After: fmt.Sprintf("e02c4a%06d", number),
			})
		}
		text := make([]string, lines)
		for l := range text {
			text[l] = fmt.Sprintf("%c app.kubernetes.io/version: %s %d.%d", " -+~"[l%4], d.Bundle, number, l/4)
		}
		made.Diffs[d.Diff] = strings.Join(text, "\n")
	}
	return made
}

// noneEqual returns the plan with objects and lines of diffs that are all different.
func noneEqual(of planreport.Target) planreport.Target {
	diffs := map[string]string{}
	for i := range of.Deployments {
		d := &of.Deployments[i]
		lines := strings.Split(of.Diffs[d.Diff], "\n")
		for l := range lines {
			lines[l] += fmt.Sprintf(" on %s for %s", d.Cluster, d.Release)
		}
		d.Diff = fmt.Sprintf("%s-%s", d.Cluster, d.Bundle)
		diffs[d.Diff] = strings.Join(lines, "\n")
		d.DigestBefore, d.DigestAfter = fmt.Sprintf("v1-%012x", i), fmt.Sprintf("v1-%012x", i+len(of.Deployments))
		for o := range d.Objects {
			d.Objects[o].Before, d.Objects[o].After = fmt.Sprintf("b%05d%06d", o, i), fmt.Sprintf("a%05d%06d", o, i)
			d.Objects[o].Key += "-" + d.Cluster
		}
	}
	of.Diffs = diffs
	return of
}

func count(summary *planreport.Summary, action planreport.Action) {
	numbers := map[planreport.Action]*int{
		planreport.Add: &summary.Add, planreport.Change: &summary.Change, planreport.Remove: &summary.Remove,
		planreport.Keep: &summary.Keep, planreport.Held: &summary.Held, planreport.Unknown: &summary.Unknown,
	}
	*numbers[action]++
}

// hostile returns a plan whose names and texts try to be more than text.
func hostile() planreport.Target {
	const (
		name   = `</script><script>window.broken = 1</script>`
		bundle = `]]>"'` + "\u202e`|" + `<img src="https://example.com/x.png" onerror="window.broken = 2">`
		text   = "</details></pre></script>\n````\n<!-- --><script>window.broken = 3</script>|| [x](javascript:alert(1)) @admin #1 https://example.com \u2028\u202e"
	)
	made := planreport.Target{
		Owner: "o", Name: name, Operation: planreport.Create, Clusters: []planreport.Cluster{{Name: name, Labels: map[string]string{"__proto__": name}, Groups: []string{name}}},
		Bundles: []string{bundle, "__proto__", "constructor"}, Stages: []planreport.Stage{{Text: text, Deployments: []string{name + "/" + bundle}}},
		Sources:  []planreport.Source{{Bundle: bundle, Repository: text, CommitBefore: text, CommitAfter: name, Subject: bundle, Author: text}},
		Warnings: []planreport.Warning{{Summary: text, Detail: text}}, Diffs: map[string]string{"x": text},
		Deployments: []planreport.Deployment{
			{
				Cluster: name, Bundle: bundle, Action: planreport.Change, Reason: text, Stage: 1, Notes: []string{text}, Diff: "x", Namespace: name, Release: bundle, Chart: text, DigestBefore: text,
				Objects: []planreport.Object{{Key: bundle, Change: planreport.ObjectChanged, Before: text, After: text}},
			},
			{Cluster: name, Bundle: "__proto__", Action: "toString", Objects: []planreport.Object{{Key: text, Change: "constructor"}}, Diff: "__proto__"},
			{Cluster: name, Bundle: "constructor", Action: planreport.Held, Reason: text, Diff: "constructor"},
		},
	}
	made.Summary.Change = 1
	return made
}
