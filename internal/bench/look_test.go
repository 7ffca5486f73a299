package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestTree(t *testing.T) {
	t.Parallel()
	parents := map[int]int{1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 21: 20, 30: 31, 31: 30}
	var stats []procfs.ProcStat
	for pid := range 40 {
		if parent, there := parents[pid]; there {
			stats = append(stats, procfs.ProcStat{PID: pid, PPID: parent})
		}
	}
	tests := map[string]struct {
		roots []int
		want  []int
	}{
		"no roots":                      {},
		"a root and all below":          {roots: []int{10}, want: []int{10, 11, 12}},
		"two roots":                     {roots: []int{11, 20}, want: []int{11, 12, 20, 21}},
		"one below the other":           {roots: []int{10, 11}, want: []int{10, 11, 12}},
		"gone":                          {roots: []int{99}},
		"numbers that were given again": {roots: []int{21}, want: []int{21}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roots := map[int]bool{}
			for _, root := range test.roots {
				roots[root] = true
			}
			var got []int
			for _, stat := range tree(stats, roots) {
				got = append(got, stat.PID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("processes (-want +got):\n%s", diff)
			}
		})
	}
}
