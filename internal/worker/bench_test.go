package worker_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		pool := worker.New(worker.Options{Command: command(b, worker.Argument), Processes: 1})
		call[any](b, pool, "echo", nil)
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	pool := newPool(b, worker.Options{Processes: 1})
	text := strings.Repeat("x", 10<<10)
	call[any](b, pool, "echo", nil)
	b.ReportAllocs()
	for b.Loop() {
		call[string](b, pool, "echo", text)
	}
}
