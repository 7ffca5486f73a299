package worker

import (
	"errors"
	"os"
	"runtime/metrics"
	"time"
)

// ConfinementMethod is a method of every worker. Its response is a [Confinement].
const ConfinementMethod = "worker.confinement"

// memoryCheck is how often a worker compares its memory with the limit.
const memoryCheck = 50 * time.Millisecond

// Confinement is what limits a worker on this system.
type Confinement struct {
	// Landlock is the version of the kernel's interface, 0 if files are not confined by it.
	Landlock int
	// TCP reports that Landlock denies TCP connections.
	TCP bool
	// Descriptors reports that no file, socket or pipe can be opened any more.
	Descriptors bool
	// NoNewPrivileges reports that the process gains no rights by running programs.
	NoNewPrivileges bool
	// Data is the kernel's limit of memory in bytes, 0 if there is none.
	Data int64
	// Missing is why a confinement of this system could not be applied.
	Missing []string
}

// now adds the limits that the parent has set.
func (c *Confinement) now() Confinement {
	current := *c
	current.Data = dataLimit()

	return current
}

// watchMemory ends the process when it uses more than limit bytes. It is what limits memory
// on systems whose kernel does not.
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

// errRace is why the race detector is less confined.
var errRace = errors.New("the race detector opens files")

// missing notes why something could not be applied.
func (c *Confinement) missing(what string, err error) {
	if err != nil {
		c.Missing = append(c.Missing, what+": "+err.Error())
	}
}
