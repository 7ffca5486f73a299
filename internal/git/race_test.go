//go:build race

package git_test

// underRace is true if the race detector is on, which takes additional memory.
const underRace = true
