// Package acceptance tests the whole provider, as users run it: with the real CLI, against real API
// servers, registries and git servers.
package acceptance
