//go:build race

package helm

// underRace says that the race detector is on, which makes everything slow.
const underRace = true
