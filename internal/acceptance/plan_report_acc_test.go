package acceptance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// readPlanReport reads a report as "target: operation", and each deployment as "key action", with its
// objects as "  key change".
func readPlanReport(t *testing.T, path string) (planreport.Report, []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read planreport.Report
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, target := range read.Targets {
		lines = append(lines, target.Name+": "+string(target.Operation))
		for _, d := range target.Deployments {
			lines = append(lines, d.Cluster+"/"+d.Bundle+" "+string(d.Action))
			for _, object := range d.Objects {
				name := object.Key[strings.LastIndex(object.Key, "/")+1:]
				lines = append(lines, "  "+name+" "+string(object.Change))
			}
		}
	}
	return read, lines
}

// The report contains what the plan shows, in each step of the life of a target, and an apply does
// not change it.
func TestAccPlanReport(t *testing.T) {
	t.Parallel()
	const secret = "kiwi-7f3a91-secret" //nolint:gosec // No credential: the test looks for this value.
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	files := []string{filepath.Join(w.dir, "plan.json"), filepath.Join(w.dir, "%o.html"), filepath.Join(w.dir, "plan.md")}
	before := w.env
	w.env = slices.Concat(before, []string{"FLEET_REPORT=" + strings.Join(files, string(os.PathListSeparator))})
	files[1] = filepath.Join(w.dir, s.namespace+".html")
	hidden := func(value string) string {
		return s.bundleOf("hidden", configMap("hidden", value)+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\nstringData: {password: "+secret+value+"}\n")
	}
	expect := func(title string, want ...string) planreport.Report {
		t.Helper()
		read, got := readPlanReport(t, files[0])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(content), secret) || !strings.Contains(string(content), "all") {
				t.Errorf("%s: %s has a secret value, or lacks the target (%v)", title, filepath.Base(file), err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode of %s: %v (%v)", filepath.Base(file), info.Mode(), err)
			}
		}
		return read
	}
	configure := func(value string, labels ...string) {
		t.Helper()
		w.configure(t, s.provider("", labels...), hidden(value), s.bundle("logs", "x"), target(`diff = "summary"`, "fleet_bundle.hidden.bundles", "fleet_bundle.logs.bundles"))
	}

	configure("x", on, on)
	w.run(t, "plan", "-input=false", "-out=tfplan")
	created := []string{"all: create", "a/hidden add", "  hidden added", "  hidden added", "a/logs add", "  logs added", "b/hidden add", "  hidden added", "  hidden added", "b/logs add", "  logs added"}
	read := expect("a create", created...)
	if label, want := read.Targets[0].Clusters[0].Labels["on"], "yes"; label != want {
		t.Errorf("label %q, want %q", label, want)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	expect("an applied create", created...)

	configure("y", on, `on = "no"`)
	w.run(t, "plan", "-input=false", "-out=tfplan")
	changed := []string{"all: update", "a/hidden change", "  hidden changed", "  hidden changed", "a/logs keep", "b/hidden remove", "  hidden removed", "  hidden removed", "b/logs remove", "  logs removed"}
	read = expect("a change", changed...)
	d := read.Targets[0].Deployments[0]
	if text := read.Targets[0].Diffs[d.Diff]; !strings.Contains(text, "+ key: (from HCL, changed)\n") || !strings.Contains(text, "(sensitive value, changed)") {
		t.Errorf("the diff is %q", text)
	}
	if d.DigestBefore == "" || d.DigestAfter == "" || d.DigestBefore == d.DigestAfter || d.Stage != 1 {
		t.Errorf("%+v", d)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	expect("an applied change", changed...)

	configure("z", on, `on = "no"`)
	output := w.run(t, "apply", "-auto-approve", "-input=false")
	if strings.Contains(output, diffTitle) || strings.Contains(output, "report of the plan is not written") {
		t.Errorf("the variable changes the plan:\n%s", output)
	}
	expect("an apply with its plan", "all: update", "a/hidden change", "  hidden changed", "  hidden changed", "a/logs keep")

	w.run(t, "plan", "-input=false")
	expect("nothing", "all: update", "a/hidden keep", "a/logs keep")

	w.run(t, "destroy", "-auto-approve", "-input=false")
	expect("a destroy", "all: destroy", "a/hidden remove", "  hidden removed", "  hidden removed", "a/logs remove", "  logs removed")
}

// A report has the commits of bundles from git, and describes the one that this run has fetched.
func TestAccPlanReportOfCommits(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	git := gittest.New(t, gittest.Options{})
	commit := func(message, color string) string {
		t.Helper()
		hash, err := git.Commit(t.Context(), "fleet", "main", message, map[string]string{
			"apps/one/fleet.yaml": "defaultNamespace: " + s.namespace + "\n", "apps/one/cm.yaml": configMap("one", color),
			"apps/two/fleet.yaml": "defaultNamespace: " + s.namespace + "\n", "apps/two/cm.yaml": configMap("two", "x"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	file := filepath.Join(w.dir, "plan.json")
	w.env = append(w.env, "FLEET_REPORT="+file)
	w.configure(t, s.provider("", on),
		fmt.Sprintf("resource \"fleet_gitrepo\" \"fleet\" {\n  name = \"fleet\"\n  repo = %q\n  branch = \"main\"\n  paths = [\"apps\"]\n}\n", git.URL("fleet")),
		target("", "fleet_gitrepo.fleet.bundles"))
	expect := func(title string, want ...planreport.Source) {
		t.Helper()
		read, _ := readPlanReport(t, file)
		for i := range want {
			want[i].Repository = git.URL("fleet")
		}
		if diff := cmp.Diff(want, read.Targets[0].Sources); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
	first := commit("Add two apps", "x")
	w.apply(t)
	second := commit("Paint it\n\nBecause.", "y")
	w.run(t, "plan", "-input=false")
	expect("a change", planreport.Source{Bundle: "fleet-apps-one", CommitBefore: first, CommitAfter: second, Subject: "Paint it", Author: "gittest"},
		planreport.Source{Bundle: "fleet-apps-two", CommitBefore: first, CommitAfter: first})
	w.run(t, "destroy", "-auto-approve", "-input=false")
	expect("a destroy", planreport.Source{Bundle: "fleet-apps-one", CommitBefore: first}, planreport.Source{Bundle: "fleet-apps-two", CommitBefore: first})
}

// Nothing is known about a create on clusters with unknown labels. The apply knows the labels and
// completes the entry. With -refresh=false an existing target is left out.
func TestAccPlanReportOfUnknown(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	file := filepath.Join(w.dir, "plan.json")
	w.env = append(w.env, "FLEET_REPORT="+file)
	w.configure(t, s.provider("", `on = terraform_data.on.id == "" ? "no" : "yes"`), `resource "terraform_data" "on" {}`, s.bundle("one", "x"),
		target("", "fleet_bundle.one.bundles"))
	w.run(t, "plan", "-input=false")
	read, got := readPlanReport(t, file)
	if diff := cmp.Diff([]string{"all: create"}, got); diff != "" || read.Targets[0].Unknown != "labels or other facts of cluster a" {
		t.Errorf("a plan (-want +got):\n%s%+v", diff, read)
	}
	w.apply(t)
	read, got = readPlanReport(t, file)
	if diff := cmp.Diff([]string{"all: create", "a/one add", "  one added"}, got); diff != "" || read.Targets[0].Unknown != "" {
		t.Errorf("an apply (-want +got):\n%s%+v", diff, read)
	}
	w.run(t, "plan", "-input=false", "-refresh=false")
	if _, got := readPlanReport(t, file); got[0] != "all: create" {
		t.Errorf("a plan without a refresh is reported: %q", got)
	}
}

// A file that cannot be written is a warning, and changes nothing else.
func TestAccPlanReportCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	before := w.env
	for _, file := range []string{filepath.Join(w.dir, "none", "plan.html"), "plan.txt"} {
		w.env = slices.Concat(before, []string{"FLEET_REPORT=" + file})
		output := w.run(t, "apply", "-auto-approve", "-input=false")
		if !strings.Contains(output, "The report of the plan is not written") {
			t.Errorf("no warning for %s:\n%s", filepath.Base(file), output)
		}
	}
	s.expectReleases(t, 0, "one")
}

// Without the variable a plan sends no additional requests to clusters. With it, the plan also
// reads the records to compare with.
func TestAccPlanReportRequests(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	configure := func(value string) {
		t.Helper()
		w.configure(t, w.clusters(), w.secretive(value, "secret-"+value), target(`diff = "summary"`, "fleet_bundle.one.bundles"))
	}
	configure("x")
	w.apply(t)
	configure("y")
	w.watch()
	w.run(t, "plan", "-input=false")
	without := w.records[0] + w.records[1]
	w.workspace.env = append(w.workspace.env, "FLEET_REPORT="+filepath.Join(w.dir, "plan.json"))
	w.watch()
	w.run(t, "plan", "-input=false")
	if with := w.records[0] + w.records[1]; without != 2 || with != 4 || len(w.writes) > 0 {
		t.Errorf("%d records were read without a report and %d with one, want 2 and 4; writes %v", without, with, w.writes)
	}
}
