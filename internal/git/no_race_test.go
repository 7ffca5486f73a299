//go:build !race

package git_test

const underRace = false
