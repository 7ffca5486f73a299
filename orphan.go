package main

import (
	"os"
	"time"
)

// orphanCheck is how often a provider looks whether its Terraform is still there.
const orphanCheck = 250 * time.Millisecond

// orphaned returns when the process that started this one has died. Nothing else
// tells a provider so: it would wait for requests for ever, and what it is at
// would get in the way of the next run, while nobody is left to save the result.
// Where the system gives an orphan no new parent, it never returns.
func orphaned(parent int) {
	for os.Getppid() == parent {
		time.Sleep(orphanCheck)
	}
}
