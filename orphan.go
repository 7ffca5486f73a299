package main

import (
	"os"
	"time"
)

// orphanCheck is how often a provider checks whether its Terraform still runs.
const orphanCheck = 250 * time.Millisecond

// orphaned returns when the parent process has exited. A provider gets no other sign of that: it
// would wait for requests forever. Its unfinished work would disturb the next run, and no Terraform
// would save the result. On a system that gives an orphan no new parent, orphaned never returns.
func orphaned(parent int) {
	for os.Getppid() == parent {
		time.Sleep(orphanCheck)
	}
}
