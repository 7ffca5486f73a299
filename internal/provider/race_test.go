//go:build race

package provider

// underRace is true if the race detector is on, which makes everything slow.
const underRace = true
