//go:build !race

package provider

const underRace = false
