package chart

// Secrets are the values of a registry that nobody may read.
func (r Registry) Secrets() []string { return []string{r.Password, r.Token} }

// WithoutCredentials returns how to reach a registry, and not as whom.
func (r Registry) WithoutCredentials() Registry {
	r.Username, r.Password, r.Token = "", "", ""
	return r
}
