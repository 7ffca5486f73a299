//go:build !unix

package progress

const extraFlags = 0

func ignoreBackground() {}
