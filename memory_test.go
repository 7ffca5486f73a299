package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// collected is how often garbage was collected before anything of this package ran, which
// Go initializes last.
//
//nolint:gochecknoglobals // it is about what happens before there is a function
var collected = func() uint32 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NumGC
}()

func TestNothingIsCollectedBeforeMain(t *testing.T) {
	t.Parallel()
	if collected > 0 {
		t.Errorf("garbage was collected %d times", collected)
	}
}

// Not parallel: the limit is that of the process.
func TestHeedMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "1GiB")
	heedMemory()
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT is set, and the limit was made %d", limit)
	}
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil { // Setenv undoes it.
		t.Fatal(err)
	}
	heedMemory()
	if limit := debug.SetMemoryLimit(-1); limit < least || limit == math.MaxInt64 {
		t.Errorf("the limit is %d", limit)
	}
}

// Not parallel, for the same reason.
func TestGarbageIsCollectedLessOftenWhereMemoryIsAmple(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "of the test") // It is set below.
	for _, test := range []struct {
		limit int64
		want  bool
	}{{limit: least}, {limit: ample, want: true}, {limit: math.MaxInt64, want: true}} {
		debug.SetMemoryLimit(test.limit)
		ballast := heedMemory()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		runtime.KeepAlive(ballast)
		if got := stats.NextGC >= 2*slack; got != test.want {
			t.Errorf("limit %d: the next collection is at %d bytes", test.limit, stats.NextGC)
		}
	}
}
