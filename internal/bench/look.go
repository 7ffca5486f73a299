package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

// sampleInterval is the interval at which the processes are read.
const sampleInterval = 50 * time.Millisecond

// usageSampler reads trees of processes while they run.
type usageSampler struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	roots map[int]bool
	found usage
	// providers and terraform are CPU seconds by process, because processes that have ended count too.
	providers, terraform map[int]float64
}

func startUsageSampler(ctx context.Context) *usageSampler {
	ctx, cancel := context.WithCancel(ctx)
	l := &usageSampler{cancel: cancel, roots: map[int]bool{}, providers: map[int]float64{}, terraform: map[int]float64{}}
	l.done.Go(func() {
		ticker := time.NewTicker(sampleInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				l.look()
			}
		}
	})
	return l
}

// at adds a tree, away removes it.
func (l *usageSampler) at(root int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roots[root] = true
}

func (l *usageSampler) away(root int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.roots, root)
}

// stop returns the usage that was found.
func (l *usageSampler) stop() usage {
	l.cancel()
	l.done.Wait()
	for _, seconds := range l.providers {
		l.found.Provider.CPU += seconds
	}
	for _, seconds := range l.terraform {
		l.found.Terraform += seconds
	}
	return l.found
}

// look reads the processes once. Without /proc, it finds nothing.
func (l *usageSampler) look() {
	all, err := procfs.AllProcs()
	if err != nil {
		return
	}
	stats := make([]procfs.ProcStat, 0, len(all))
	for _, process := range all {
		if stat, err := process.Stat(); err == nil { // The process may have ended.
			stats = append(stats, stat)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(tree(stats, l.roots))
}

func (l *usageSampler) note(stats []procfs.ProcStat) {
	var sum int64
	providers := 0
	for _, stat := range stats {
		sum += int64(stat.ResidentMemory())
		if stat.Comm == "terraform" {
			l.terraform[stat.PID] = stat.CPUTime()
		}
		if !isProvider(stat) {
			continue
		}
		providers++
		l.providers[stat.PID] = stat.CPUTime()
		l.found.Provider.Peak = max(l.found.Provider.Peak, highWater(stat.PID))
	}
	l.found.Peak = max(l.found.Peak, sum)
	l.found.Provider.Processes = max(l.found.Provider.Processes, providers)
}

// isProvider checks the name of the process, of which the system stores 15 characters.
func isProvider(stat procfs.ProcStat) bool { return strings.HasPrefix(stat.Comm, "terraform-provi") }

func highWater(pid int) int64 {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, err := process.NewStatus()
	if err != nil {
		return 0 // The process has ended.
	}
	return int64(status.VmHWM) //nolint:gosec // no process has that much memory
}

// tree returns the processes that are roots or descend from one.
func tree(stats []procfs.ProcStat, roots map[int]bool) []procfs.ProcStat {
	parents := make(map[int]int, len(stats))
	for _, stat := range stats {
		parents[stat.PID] = stat.PPID
	}
	var inside []procfs.ProcStat
	for _, stat := range stats {
		for pid, seen := stat.PID, 0; pid != 0 && seen <= len(stats); pid, seen = parents[pid], seen+1 {
			if roots[pid] {
				inside = append(inside, stat)
				break
			}
		}
	}
	return inside
}
