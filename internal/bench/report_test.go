package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "write what the report wants, to be read before it is committed")

// measured returns two rounds of one cell, and another cell without waiting.
func measured() contestResult {
	small := cell{Work: work{Releases: 10, Objects: 4}, Network: "loopback", Wait: true}
	middling := cell{Work: work{Releases: 10, Objects: 40}, Network: "50ms"}
	r := contestResult{Run: run{
		Date: "2026-01-02 03:04 UTC", Commit: "0123456789ab", Command: "make bench",
		Machine:  machine{Processor: "Some CPU", Cores: 2, Memory: 24 << 30, Kernel: "Linux 6.1", Load: 0.25},
		Versions: map[string]string{"Helm": "v3.22.0", "Terraform": "1.11.4", "terraform-provider-helm": ""},
	}}
	add := func(in cell, contender string, s step, round int, took float64, processes int, requests map[string]int) {
		r.Samples = append(r.Samples, sample{Cell: in, Contender: contender, Step: s, Round: round, Requests: requests, Usage: usage{
			Seconds: took, CPU: took / 2, Peak: int64(took * 100 * megabyte),
			Provider: provider{Processes: processes, Peak: int64(processes) * 50 * megabyte, CPU: took / 4 * float64(processes)},
		}})
	}
	for round := range 2 {
		later := float64(round)
		add(small, "fleet", install, round, 1+later, 1, nil)
		add(small, "fleet", change, round, 2, 1, nil)
		add(small, "fleet-default", install, round, 6.5+later, 1, nil)
		add(small, "helm-provider", install, round, 9+later, 3, nil)
		add(small, "helm-provider", change, round, 3, 3, nil)
		add(small, "floor-ready", install, round, 0.5, 0, nil)
		add(middling, "fleet", install, round, 4, 1, map[string]int{"list": 30, "create": 121})
		add(middling, "helm", install, round, 20, 0, map[string]int{"get": 600, "deletecollection": 3})
	}
	return r
}

func grown() scaleResult {
	r := scaleResult{Bundles: 20, Run: measured().Run}
	for _, count := range []int{10, 20, 50, 200} {
		r.Samples = append(r.Samples, scaleSample{Entries: count, Step: "create", Usage: usage{
			Seconds: 1 + float64(count)*0.2, CPU: float64(count) / 10, Terraform: float64(count) / 100, Provider: provider{Processes: 1, Peak: int64(150+count) * megabyte},
		}})
	}
	return r
}

// engineGrown returns results for two numbers of clusters, of which the larger one misses a limit.
func engineGrown() engineResult {
	r := engineResult{Bundles: 5, Run: measured().Run}
	for _, count := range []int{30, 300} {
		used := usage{Seconds: 2 + float64(count)*0.005, Provider: provider{Processes: 1, Peak: int64(50+count/2) * megabyte, CPU: 1.5}}
		r.Samples = append(
			r.Samples,
			engineSample{Clusters: count, Step: "create", Usage: used, Waiting: used.Seconds * 0.75, Requests: map[string]int{"list": 4, "create": 5, "watch": 1}},
			engineSample{Clusters: count, Step: nothingPlanned, Usage: used, Requests: map[string]int{"list": 4, furtherPages: count * 5 / 250}},
		)
	}
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	contest, err := contestSection(measured())
	if err != nil {
		t.Fatal(err)
	}
	scale, err := scaleSection(grown())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := requirementsSection(measured(), grown(), engineGrown())
	if err != nil {
		t.Fatal(err)
	}
	engine, err := engineSection(engineGrown())
	if err != nil {
		t.Fatal(err)
	}
	plot, err := plotOf(measured())
	if err != nil {
		t.Fatal(err)
	}
	page, err := pageOf(map[string]string{"contest": contest, "scale": scale, "engine": engine, "requirements": rows}, "benchmarks.svg")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "report.txtar")
	got := &txtar.Archive{Files: []txtar.File{{Name: "benchmarks.md", Data: []byte(page)}, {Name: "benchmarks.svg", Data: []byte(plot)}}}
	if *update {
		if err := writeFiles("testdata", map[string]string{"report.txtar": string(txtar.Format(got))}); err != nil {
			t.Fatal(err)
		}
	}
	want, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	for decoder := xml.NewDecoder(strings.NewReader(plot)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
	if got := section(page, "scale"); got != strings.Trim(scale, "\n") {
		t.Errorf("the page does not give its section back:\n%s", cmp.Diff(scale, got))
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	got := map[string]requirementRow{}
	for _, row := range requirements(measured(), grown(), engineGrown()) {
		got[row.What] = row
	}
	want := map[string]string{
		"install":                                "met",
		"install: CPU":                           "**not met**",
		"change one value everywhere":            "**not met**",
		"change one value everywhere: CPU":       "**not met**",
		"nothing changed":                        "–",
		"nothing changed: CPU":                   "–",
		"one target removed":                     "–",
		"one target removed: CPU":                "–",
		"destroy":                                "–",
		"destroy: CPU":                           "–",
		"releases of 40 objects, 50 ms: install": "–",
		"releases of 40 objects, 50 ms: change":  "–",
		"releases of 40 objects, 50 ms without waiting: install":            "met",
		"releases of 40 objects, 50 ms without waiting: change":             "–",
		"200 clusters: create, CPU for each deployment":                     "met",
		"200 clusters: plan and apply of a change, CPU for each deployment": "–",
		"200 clusters: destroy, CPU for each deployment":                    "–",
		"200 clusters: plan of nothing, time for each deployment":           "–",
		"memory of the provider, 20 clusters":                               "met",
		"memory for each further cluster":                                   "met",
		"processes of the provider at once":                                 "met",
		"engine: plan of nothing, for each deployment":                      "**not met**",
		"engine: memory of a plan of nothing":                               "met",
		"engine: requests of a plan of nothing, without further pages":      "met",
	}
	verdicts := map[string]string{}
	for what, row := range got {
		verdicts[what] = row.Verdict
	}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if got := got["200 clusters: create, CPU for each deployment"]; got.Measured != "5.0 ms (4000 deployments)" || got.Floor != "0.5 ms" {
		t.Errorf("a deployment costs %s, of which Terraform %s", got.Measured, got.Floor)
	}
	if got := got["memory for each further cluster"].Measured; got != "1.00 MB" {
		t.Errorf("memory grows by %s", got)
	}
}

// A section without new results stays as it is on the page.
func TestSectionStays(t *testing.T) {
	t.Parallel()
	first, err := pageOf(map[string]string{"scale": "Measured elsewhere."}, "p.svg")
	if err != nil {
		t.Fatal(err)
	}
	second, err := pageOf(map[string]string{"contest": "New.", "scale": section(first, "scale"), "requirements": section(first, "requirements")}, "p.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got := section(second, "scale"); got != "Measured elsewhere." {
		t.Errorf("got %q", got)
	}
	if got := section(second, "requirements"); got != "" {
		t.Errorf("a section came from nowhere: %q", got)
	}
}

// A run of one part does not change the rows of the other part.
func TestKeepRows(t *testing.T) {
	t.Parallel()
	both, err := requirementsSection(measured(), grown(), engineGrown())
	if err != nil {
		t.Fatal(err)
	}
	contest, err := requirementsSection(measured(), scaleResult{}, engineResult{})
	if err != nil {
		t.Fatal(err)
	}
	scale, err := requirementsSection(contestResult{}, grown(), engineResult{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := requirementsSection(contestResult{}, scaleResult{}, engineGrown())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"contest": contest, "scale": scale, "engine": engine} {
		if text == both {
			t.Errorf("the %s alone knows everything", name)
		}
		if diff := cmp.Diff(both, keepRows(text, strings.Trim(both, "\n"))); diff != "" {
			t.Errorf("after a run of the %s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(both, keepRows(both, contest)); diff != "" {
		t.Errorf("what was measured gave way (-want +got):\n%s", diff)
	}
}
