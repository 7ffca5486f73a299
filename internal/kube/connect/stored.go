package connect

import "net/url"

// IsStorable reports whether a connection may be kept in Terraform's state, as JSON. That contains
// addresses, names, and certificates of authorities. A connection is not kept if it needs any other
// part: credentials, a user in an address, and the arguments and the environment of a command,
// because they can contain credentials.
func (c Connection) IsStorable() bool {
	if c.Token != "" || c.Username != "" || c.Password != "" || c.ClientCertificate != "" || c.ClientKey != "" || c.Kubeconfig != "" {
		return false
	}
	if c.Exec != nil && (len(c.Exec.Args) > 0 || len(c.Exec.Env) > 0 || c.Exec.Timeout > 0) {
		return false
	}
	return isPlain(withScheme(c.Host)) && (c.ProxyURL == "" || isPlain(c.ProxyURL))
}

// isPlain reports whether an address has no user, no query and no fragment.
func isPlain(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
}
