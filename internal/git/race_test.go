//go:build race

package git_test

// underRace says that the race detector is on, which takes memory of its own.
const underRace = true
