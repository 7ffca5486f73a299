//go:build unix && !linux

package worker

// limitProcess does nothing: these systems limit no other process. The worker watches itself.
func limitProcess(int, int64) error { return nil }
