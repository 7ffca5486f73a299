package planreport

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page has a list of objects once, and reading the page returns it for each deployment.
func TestObjectLists(t *testing.T) {
	t.Parallel()
	objects := []Object{{Key: "ConfigMap/shop/web", Change: ObjectChanged, Before: "b", After: "a"}}
	deployments := []Deployment{
		{Cluster: "a", Bundle: "web", Objects: objects},
		{Cluster: "b", Bundle: "web", Objects: objects},
		{Cluster: "c", Bundle: "web", Objects: []Object{{Key: "ConfigMap/shop/web", Change: ObjectAdded, After: "a"}}},
		{Cluster: "d", Bundle: "web"},
	}
	written := newReport([]Target{{Owner: "o", Name: "prod", Diffs: map[string]string{}, Deployments: deployments}})
	for i := range written.Targets {
		written.Targets[i].fill()
	}
	page, err := renderHTML(written)
	if err != nil {
		t.Fatal(err)
	}
	if lists := strings.Count(string(page), "ConfigMap/shop/web"); lists != 2 {
		t.Errorf("the page has %d lists, want 2", lists)
	}
	path := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
	read := readReport(path, extractHTML)
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("the report (-written +read):\n%s", diff)
	}
	read.Targets[0].Deployments[0].Objects[0].Key = "other"
	if got := read.Targets[0].Deployments[1].Objects[0].Key; got != "ConfigMap/shop/web" {
		t.Errorf("two deployments share a list: %s", got)
	}
}

// A program writes a small page whose deployments have very many objects together, or a list that is
// missing: the page is no report.
func TestAttackObjectLists(t *testing.T) {
	t.Parallel()
	large := Target{Owner: "o", Name: "prod", ObjectLists: map[string][]Object{"1": make([]Object, 10_000)}}
	for i := range 10_000 {
		large.Deployments = append(large.Deployments, Deployment{Cluster: fmt.Sprintf("c%05d", i), Bundle: "web", ObjectsList: "1"})
	}
	for name, of := range map[string]Target{
		"too many objects": large,
		"a missing list":   {Owner: "o", Name: "prod", Deployments: []Deployment{{Cluster: "a", Bundle: "web", ObjectsList: "2"}}},
	} {
		data, err := json.Marshal(Report{Format: Format, Targets: []Target{of}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(data); err == nil {
			t.Errorf("%s: a report", name)
		}
	}
}
