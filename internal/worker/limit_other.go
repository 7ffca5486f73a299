//go:build unix && !linux

package worker

// limitProcess does nothing: these systems limit no other process. The worker checks its own
// memory.
func limitProcess(int, int64) error { return nil }
