package main

import (
	"math"
	"os"
	"runtime/debug"
	"testing"
)

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
