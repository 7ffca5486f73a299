//go:build !race

package worker

const underRace = false
