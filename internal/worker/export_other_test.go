//go:build !linux

package worker

func landlockOnly() Confinement { return Confinement{} }
