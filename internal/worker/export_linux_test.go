package worker

func landlockOnly() Confinement {
	var c Confinement
	c.landlock()

	return c
}
