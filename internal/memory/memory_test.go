package memory

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// Not parallel: the limit applies to the whole process.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "1GiB")
	Limit()
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT is set, and the limit was made %d", limit)
	}
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil { // t.Setenv restores it.
		t.Fatal(err)
	}
	Limit()
	if limit := debug.SetMemoryLimit(-1); limit < least || limit == math.MaxInt64 {
		t.Errorf("the limit is %d", limit)
	}
}

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		live float64
		want int
	}{
		{live: 0, want: 500},
		{live: smallest, want: 500},
		{live: 16 << 20, want: 200},
		{live: 48 << 20, want: 133},
		{live: 64 << 20, want: 100},
		{live: 128 << 20, want: 50},
		{live: 4 << 30, want: 40},
	} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("%.0f bytes: %d %%, want %d", test.live, got, test.want)
		}
	}
}

// Not parallel, for the same reason.
func TestThePercentageIsAdjustedWhereMemoryIsAmple(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "of the test") // The limit is set below.
	for _, test := range []struct {
		name  string
		limit int64
		gogc  string
		want  bool
	}{
		{name: "little memory", limit: least},
		{name: "GOGC is set", limit: math.MaxInt64, gogc: "100"},
		{name: "ample memory", limit: ample, want: true},
		{name: "no limit", limit: math.MaxInt64, want: true},
	} {
		t.Setenv("GOGC", test.gogc)
		debug.SetMemoryLimit(test.limit)
		if got := adjusts(); got != test.want {
			t.Errorf("%s: the percentage is adjusted: %t", test.name, got)
		}
	}
}

// Not parallel: the percentage applies to the whole process.
func TestCollectorIsAdjustedToTheHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	runtime.GC()
	small := adjusted(0)
	if metrics.Read(goal); goal[0].Value.Uint64() < slack {
		t.Errorf("a small heap: garbage is collected at %d bytes", goal[0].Value.Uint64())
	}
	heap := make([]byte, 256<<20)
	runtime.GC()
	large := adjusted(small)
	if metrics.Read(goal); goal[0].Value.Uint64() > 380<<20 {
		t.Errorf("%d bytes in use: garbage is collected at %d bytes", len(heap), goal[0].Value.Uint64())
	}
	runtime.KeepAlive(heap)
	if large != 40 || adjusted(large) != large {
		t.Errorf("the percentage is %d, and then %d", large, adjusted(large))
	}
}
