package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux tells about other processes")
	}
	// The shell waits for a child that computes; both processes are measured.
	busy := command{args: []string{"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done & wait"}, dir: t.TempDir(), env: os.Environ()}
	used, err := measure(t.Context(), []command{busy, busy})
	if err != nil {
		t.Fatal(err)
	}
	if used.Seconds <= 0 || used.CPU <= 0 || used.Peak <= 0 {
		t.Errorf("two busy commands took nothing: %+v", used)
	}
	if used.Provider != (provider{}) {
		t.Errorf("a shell is taken for a provider: %+v", used.Provider)
	}
}

func TestMeasureFailure(t *testing.T) {
	t.Parallel()
	_, err := measure(t.Context(), []command{{args: []string{"sh", "-c", "i=0; while [ $i -lt 99 ]; do i=$((i+1)); echo line $i; done; echo the reason >&2; exit 3"}, dir: t.TempDir()}})
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "the reason") || strings.Contains(err.Error(), "line 9\n") {
		t.Errorf("got %v, want status 3 and what was printed last", err)
	}
}
