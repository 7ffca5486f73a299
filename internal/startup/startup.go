// Package startup keeps the collector of garbage at rest while all other packages are
// initialized.
//
// Those of Helm and Kubernetes make some 8 MB that stay, of which three collections find
// nothing to free: a quarter of the time that the provider takes to start, and Terraform
// starts it four or five times for one command. Go initializes this package among the
// first, as it needs nearly nothing and comes early in the alphabet
// (https://go.dev/ref/spec#Program_initialization).
package startup

import "runtime/debug"

//nolint:gochecknoglobals // nothing but an initializer runs that early
var percent = debug.SetGCPercent(-1)

// Done lets the collector work, as GOGC says.
func Done() { debug.SetGCPercent(percent) }
