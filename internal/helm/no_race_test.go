//go:build !race

package helm

const underRace = false
