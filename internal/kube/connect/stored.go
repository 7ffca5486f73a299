package connect

import "net/url"

// Stored returns a connection that may be kept in Terraform's state as JSON. It returns false if the
// connection needs what may not be kept: credentials, a user in an address, and the arguments and the
// environment of a command, because they can contain credentials.
func (c Connection) Stored() (Connection, bool) {
	if c.Username != "" || c.ClientCertificate != "" || !c.Token.IsZero() || !c.Password.IsZero() || !c.ClientKey.IsZero() || !c.Kubeconfig.IsZero() {
		return Connection{}, false
	}
	if !isPlain(withScheme(c.Host)) || c.ProxyURL != "" && !isPlain(c.ProxyURL) {
		return Connection{}, false
	}
	if c.Exec != nil && (len(c.Exec.Args) > 0 || len(c.Exec.Env) > 0 || c.Exec.Timeout > 0) {
		return Connection{}, false
	}
	return c, true
}

// isPlain reports whether an address has no user, no query and no fragment.
func isPlain(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
}
