package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/startup"
)

const (
	// share of the memory of the machine, or of the container, is the provider's.
	// Terraform itself takes another part, as it holds plan and state several times.
	share = 0.5
	// least is what a small machine leaves the provider, in bytes: with less, the
	// collector of garbage would be at work all the time.
	least = 192 << 20
	// slack is how much garbage may lie about, in bytes, however little is in use, and
	// ample the limit from which on that is so. Plans and applies of a few clusters have
	// some 10 MB in use, and a sixth of their time went into collecting after each 10 MB.
	slack = 16 << 20
	ample = 512 << 20
)

// heedMemory makes the collector of garbage work harder where memory becomes scarce,
// instead of taking twice of what is in use, wherever that ends, and less where there is
// plenty. It sets no limit where GOMEMLIMIT says something else. Until then the collector
// was at rest.
//
// Whoever holds the ballast that it answers keeps the collector at rest: it counts as
// memory in use, and takes none, as nobody ever touches it. What follows from what is in
// use stands in https://go.dev/doc/gc-guide#GOGC.
func heedMemory() (ballast []byte) {
	// Where nobody says how much memory there is, there is no limit to heed.
	_, _ = memlimit.Set(
		memlimit.WithRatio(share), memlimit.WithMin(least),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
	)
	if limit := debug.SetMemoryLimit(-1); limit >= ample {
		ballast = make([]byte, slack)
	}
	startup.Done()
	return ballast
}
