// Package memory limits the memory of a process, and adjusts how often its garbage is collected.
package memory

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// share is the provider's share of the memory of the machine, or of the container. Terraform
	// itself needs another part, because it stores plan and state several times.
	share = 0.5
	// least is the limit on a small machine, in bytes. With less, the garbage collector
	// would run all the time.
	least = 192 << 20
	// slack is the garbage that may accumulate even with a small heap, in bytes. Plans and applies
	// of a few clusters use some 10 MB, and so do templates. A collection after each 10 MB took a
	// sixth of the time of a plan, and a third of that of templates. The garbage may be as large as the heap and slack together, up to plenty, or as large
	// as garbageShare of a large heap. This applies from a memory limit of ample on.
	slack        = 16 << 20
	plenty       = 64 << 20
	garbageShare = 0.4
	ample        = 512 << 20
	// smallest is the smallest heap in use for which the percentage is computed, in bytes.
	smallest = 4 << 20
	// gcCheck is how often the percentage is adjusted to the heap.
	gcCheck = 25 * time.Millisecond
)

// Limit limits the memory of the process to its share of the machine. GOMEMLIMIT takes precedence.
func Limit() {
	// Without information about the memory there is no limit.
	_, _ = memlimit.Set(
		memlimit.WithRatio(share), memlimit.WithMin(least),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
	)
}

// AdjustCollector adjusts the percentage of garbage to the heap, as long as the process runs. It
// returns at once if GOGC is set, or if there is little memory, because then every collection counts.
// The percentage is described in https://go.dev/doc/gc-guide#GOGC.
func AdjustCollector() {
	if !adjusts() {
		return
	}
	current := adjusted(0)
	for range time.Tick(gcCheck) {
		current = adjusted(current)
	}
}

func adjusts() bool { return os.Getenv("GOGC") == "" && debug.SetMemoryLimit(-1) >= ample }

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

// gcPercent returns the percentage of garbage for a heap with this number of bytes in use.
func gcPercent(live float64) int {
	live = max(live, smallest)
	garbage := max(garbageShare*live, min(live+slack, plenty))
	return int(100 * garbage / live)
}
