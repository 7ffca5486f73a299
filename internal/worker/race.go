//go:build race

package worker

// underRace is true if the race detector is on. The race detector maps more memory than RLIMIT_DATA
// allows, and it opens files.
const underRace = true
