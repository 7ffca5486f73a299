package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The floor is this program in another process, so the test binary must be able to run as the
// floor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		main()
		return
	}
	os.Exit(m.Run())
}

// One release runs through all steps. The test needs the provider in ./bin.
func TestAccContest(t *testing.T) {
	testenv.Require(t)
	testenv.RequireSoak(t)
	t.Chdir("../..")
	result, err := runContest(t.Context(), contestSettings{
		rounds: 1, works: []work{{Releases: 1, Objects: 4}}, latencies: []time.Duration{time.Millisecond},
		contenders: []string{"fleet", "fleet-default", "floor", "floor-ready"}, raw: filepath.Join(t.TempDir(), "contest.json"),
	})
	if err != nil {
		t.Fatal(err)
	}
	measured := map[string][]step{}
	for _, one := range result.Samples {
		measured[one.Contender] = append(measured[one.Contender], one.Step)
		if one.Usage.Seconds <= 0 || one.Usage.CPU <= 0 || sum(one.Requests) == 0 {
			t.Errorf("%s, %s took nothing: %+v", one.Contender, one.Step, one)
		}
		if processes := one.Usage.Provider.Processes; one.Contender == "fleet" && processes != 1 {
			t.Errorf("%s: %d processes of the provider were seen", one.Step, processes)
		}
	}
	writes := []step{install, change, remove, destroy}
	if diff := cmp.Diff(map[string][]step{"fleet": timedSteps(), "fleet-default": timedSteps(), "floor": writes, "floor-ready": writes}, measured); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	// 4 objects, a namespace and a record on each cluster.
	const writesOfInstall = 6 * clusterCount
	for _, one := range result.Samples {
		if one.Contender == "floor" && one.Step == install && one.Requests["create"] != writesOfInstall {
			t.Errorf("the floor made %v instead of %d", one.Requests, writesOfInstall)
		}
	}
}

// One bundle is deployed to a growing number of clusters.
func TestAccScale(t *testing.T) {
	testenv.Require(t)
	testenv.RequireSoak(t)
	t.Chdir("../..")
	raw := filepath.Join(t.TempDir(), "scale.json")
	if err := runScale(t.Context(), scaleSettings{entries: []int{1, 4}, bundles: 1, raw: raw}); err != nil {
		t.Fatal(err)
	}
	var result scaleResult
	if there, err := load(raw, &result); err != nil || !there {
		t.Fatalf("there: %t, %v", there, err)
	}
	if want := 2 * len(scaleSteps()); len(result.Samples) != want {
		t.Fatalf("%d samples, want %d", len(result.Samples), want)
	}
	for _, one := range result.Samples {
		if one.Usage.Provider.Processes != 1 || one.Usage.Provider.Peak == 0 {
			t.Errorf("%d clusters, %s: %+v, want one process with memory", one.Entries, one.Step, one.Usage)
		}
	}
}
