package kube

import (
	"net/url"
	"time"
)

// Stored is what may be kept of a connection in Terraform's state: addresses, names, and
// certificates of authorities. A field that is not here is never kept.
type Stored struct {
	Host                 string `json:",omitempty"`
	ClusterCACertificate string `json:",omitempty"`
	TokenFile            string `json:",omitempty"`
	// ExecVersion and ExecCommand name a command without arguments.
	ExecVersion string `json:",omitempty"`
	ExecCommand string `json:",omitempty"`

	ConfigPaths           []string `json:",omitempty"`
	ConfigContext         string   `json:",omitempty"`
	ConfigContextCluster  string   `json:",omitempty"`
	ConfigContextAuthInfo string   `json:",omitempty"`

	ProxyURL        string        `json:",omitempty"`
	TLSServerName   string        `json:",omitempty"`
	Insecure        bool          `json:",omitempty"`
	ImpersonateUser string        `json:",omitempty"`
	QPS             float32       `json:",omitempty"`
	Burst           int           `json:",omitempty"`
	RequestTimeout  time.Duration `json:",omitempty"`
}

// Stored returns what may be kept of a connection. It is false for a connection that does not
// work without the rest: credentials, a user in an address, arguments and environment of a
// command, in which credentials are handed on.
func (c Connection) Stored() (Stored, bool) {
	if c.Token != "" || c.Username != "" || c.Password != "" || c.ClientCertificate != "" || c.ClientKey != "" || c.Kubeconfig != "" {
		return Stored{}, false
	}
	if !isPlain(withScheme(c.Host)) || c.ProxyURL != "" && !isPlain(c.ProxyURL) {
		return Stored{}, false
	}
	stored := Stored{
		Host: c.Host, ClusterCACertificate: c.ClusterCACertificate, TokenFile: c.TokenFile,
		ConfigPaths: c.ConfigPaths, ConfigContext: c.ConfigContext, ConfigContextCluster: c.ConfigContextCluster, ConfigContextAuthInfo: c.ConfigContextAuthInfo,
		ProxyURL: c.ProxyURL, TLSServerName: c.TLSServerName, Insecure: c.Insecure, ImpersonateUser: c.ImpersonateUser,
		QPS: c.QPS, Burst: c.Burst, RequestTimeout: c.RequestTimeout,
	}
	if c.Exec != nil {
		if len(c.Exec.Args) > 0 || len(c.Exec.Env) > 0 || c.Exec.Timeout > 0 {
			return Stored{}, false
		}
		stored.ExecVersion, stored.ExecCommand = c.Exec.APIVersion, c.Exec.Command
	}
	return stored, true
}

// isPlain reports whether an address has no user, no query and no fragment.
func isPlain(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
}

// Connection returns the connection that was kept.
func (s Stored) Connection() Connection {
	connection := Connection{
		Host: s.Host, ClusterCACertificate: s.ClusterCACertificate, TokenFile: s.TokenFile,
		ConfigPaths: s.ConfigPaths, ConfigContext: s.ConfigContext, ConfigContextCluster: s.ConfigContextCluster, ConfigContextAuthInfo: s.ConfigContextAuthInfo,
		ProxyURL: s.ProxyURL, TLSServerName: s.TLSServerName, Insecure: s.Insecure, ImpersonateUser: s.ImpersonateUser,
		QPS: s.QPS, Burst: s.Burst, RequestTimeout: s.RequestTimeout,
	}
	if s.ExecCommand != "" {
		connection.Exec = &Exec{APIVersion: s.ExecVersion, Command: s.ExecCommand}
	}
	return connection
}
