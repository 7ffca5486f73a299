package connect

import (
	"net/url"
	"time"
)

// Stored contains the parts of a connection that may be kept in Terraform's state: addresses,
// names, and certificates of authorities. All other fields are never kept.
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

	FromEnvironment bool `json:",omitempty"`

	ProxyURL        string        `json:",omitempty"`
	TLSServerName   string        `json:",omitempty"`
	Insecure        bool          `json:",omitempty"`
	ImpersonateUser string        `json:",omitempty"`
	QPS             float32       `json:",omitempty"`
	Burst           int           `json:",omitempty"`
	RequestTimeout  time.Duration `json:",omitempty"`

	Namespaces []string `json:",omitempty"`
}

// Stored returns the parts of a connection that may be kept. It returns false if the connection
// needs any other part. Such parts are credentials, a user in an address, and the arguments and the
// environment of a command, because they can contain credentials.
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
		FromEnvironment: c.FromEnvironment,
		ProxyURL:        c.ProxyURL, TLSServerName: c.TLSServerName, Insecure: c.Insecure, ImpersonateUser: c.ImpersonateUser,
		QPS: c.QPS, Burst: c.Burst, RequestTimeout: c.RequestTimeout, Namespaces: c.Namespaces,
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
		FromEnvironment: s.FromEnvironment,
		ProxyURL:        s.ProxyURL, TLSServerName: s.TLSServerName, Insecure: s.Insecure, ImpersonateUser: s.ImpersonateUser,
		QPS: s.QPS, Burst: s.Burst, RequestTimeout: s.RequestTimeout, Namespaces: s.Namespaces,
	}
	if s.ExecCommand != "" {
		connection.Exec = &Exec{APIVersion: s.ExecVersion, Command: s.ExecCommand}
	}
	return connection
}
