//go:build unix && !linux

package worker

// confine removes the rights that a handler does not need and that the system can deny.
func confine() Confinement {
	var c Confinement
	c.missing("inherited files", closeInherited())
	if underRace {
		c.missing("descriptors", errRace)

		return c
	}
	err := limitDescriptors()
	c.missing("descriptors", err)
	c.Descriptors = err == nil

	return c
}

// dataLimit returns 0: these systems have no limit that the parent could set.
func dataLimit() int64 { return 0 }
