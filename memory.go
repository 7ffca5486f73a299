package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// share of the memory of the machine, or of the container, is the provider's.
	// Terraform itself takes another part, because it keeps plan and state several times.
	share = 0.5
	// least is the limit on a small machine, in bytes. With less, the garbage collector
	// would run all the time.
	least = 192 << 20
	// slack is the garbage that may accumulate however small the heap is, in bytes. Plans
	// and applies of a few clusters use some 10 MB, and collecting after each 10 MB took a
	// sixth of their time. plenty is the garbage from which on a large heap is collected
	// after half of its size instead of its whole size. ample is the memory limit from
	// which on all of this is so.
	slack  = 16 << 20
	plenty = 64 << 20
	ample  = 512 << 20
	// smallest is the heap in use that the percentage is computed for at least, in bytes.
	smallest = 4 << 20
	// gcCheck is how often the percentage is adjusted to the heap.
	gcCheck = 25 * time.Millisecond
)

// limitMemory sets the memory limit. It reports whether the percentage of garbage is to be
// adjusted to the heap: GOMEMLIMIT and GOGC have precedence, and with little memory every
// collection counts. Their meaning is described in https://go.dev/doc/gc-guide#GOGC.
func limitMemory() (adjusts bool) {
	// Without information about the memory there is no limit.
	_, _ = memlimit.Set(
		memlimit.WithRatio(share), memlimit.WithMin(least),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
	)
	return os.Getenv("GOGC") == "" && debug.SetMemoryLimit(-1) >= ample
}

// adjustCollector adjusts the percentage of garbage to the heap. It never returns.
func adjustCollector(current int) {
	for ; ; time.Sleep(gcCheck) {
		current = adjusted(current)
	}
}

// adjusted returns the percentage of garbage for the heap after the last collection, and
// sets it. Setting it stops all goroutines, so a small difference is ignored.
func adjusted(current int) int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	wanted := gcPercent(float64(live[0].Value.Uint64()))
	if wanted*10 >= current*9 && wanted*10 <= current*11 {
		return current
	}
	debug.SetGCPercent(wanted)
	return wanted
}

// gcPercent is the percentage of garbage for a heap with so many bytes in use.
func gcPercent(live float64) int {
	live = max(live, smallest)
	garbage := max(live/2, min(live+slack, plenty))
	return int(100 * garbage / live)
}
