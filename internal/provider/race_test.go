//go:build race

package provider

// underRace says that the race detector is on, which makes everything slow.
const underRace = true
