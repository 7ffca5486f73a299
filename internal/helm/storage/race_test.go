//go:build race

package storage

// underRace is true if the race detector is on, which makes all tests slow.
const underRace = true
