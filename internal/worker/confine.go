package worker

import (
	"errors"
	"os"
	"runtime/metrics"
	"time"
)

// ConfinementMethod is a method of every worker. Its response is a [Confinement].
const ConfinementMethod = "worker.confinement"

// memoryCheck and timeCheck are how often a worker compares its memory and its CPU time with the limits.
const (
	memoryCheck = 50 * time.Millisecond
	timeCheck   = 50 * time.Millisecond
)

// Confinement describes what limits a worker on this system.
type Confinement struct {
	// Landlock is the version of the kernel's interface, 0 if files are not confined by it.
	Landlock int
	// TCP is true if Landlock denies TCP connections.
	TCP bool
	// Descriptors is true if no file, socket or pipe can be opened any more.
	Descriptors bool
	// NoNewPrivileges is true if the process gains no rights by running programs.
	NoNewPrivileges bool
	// Data is the kernel's memory limit in bytes, 0 if there is none.
	Data int64
	// Missing are the reasons why confinements of this system could not be applied.
	Missing []string
}

// now returns the confinement with the current limits, which the parent sets.
func (c *Confinement) now() Confinement {
	current := *c
	current.Data = dataLimit()

	return current
}

// watchMemory ends the process when it uses more than limit bytes. It limits memory on systems
// whose kernel does not.
func watchMemory(limit int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for range time.Tick(memoryCheck) {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > uint64(limit) { //nolint:gosec // It is above 0.
			os.Exit(exitMemory)
		}
	}
}

// errRace is the reason why a worker is less confined under the race detector.
var errRace = errors.New("the race detector opens files")

// missing records why something could not be applied.
func (c *Confinement) missing(what string, err error) {
	if err != nil {
		c.Missing = append(c.Missing, what+": "+err.Error())
	}
}
