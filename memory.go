package main

import "github.com/KimMachineGun/automemlimit/memlimit"

const (
	// share of the memory of the machine, or of the container, is the provider's.
	// Terraform itself takes another part, as it holds plan and state several times.
	share = 0.5
	// least is what a small machine leaves the provider, in bytes: with less, the
	// collector of garbage would be at work all the time.
	least = 192 << 20
)

// heedMemory makes the collector of garbage work harder where memory becomes scarce,
// instead of taking twice of what is in use, wherever that ends. It does nothing where
// GOMEMLIMIT says something else.
func heedMemory() {
	// Where nobody says how much memory there is, there is no limit to heed.
	_, _ = memlimit.Set(
		memlimit.WithRatio(share), memlimit.WithMin(least),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
	)
}
