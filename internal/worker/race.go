//go:build race

package worker

// underRace reports that the race detector is on. It maps more memory than RLIMIT_DATA
// allows, and it opens files.
const underRace = true
