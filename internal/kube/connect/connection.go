package connect

import (
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// Connection describes how to reach one cluster: by Host, by the content of a kubeconfig, by
// kubeconfig files, or by environment variables. Its JSON has what may be kept in Terraform's state:
// addresses, names, and certificates of authorities.
type Connection struct {
	Host                 string            `json:",omitempty"`
	ClusterCACertificate string            `json:",omitempty"` // PEM
	Token                secret.Of[string] `json:"-"`
	TokenFile            string            `json:",omitempty"`
	Username             string            `json:"-"`
	Password             secret.Of[string] `json:"-"`
	ClientCertificate    string            `json:"-"` // PEM
	ClientKey            secret.Of[string] `json:"-"` // PEM
	Exec                 *Exec             `json:",omitempty"`

	Kubeconfig            secret.Of[string] `json:"-"` // content
	ConfigPaths           []string          `json:",omitempty"`
	ConfigContext         string            `json:",omitempty"`
	ConfigContextCluster  string            `json:",omitempty"`
	ConfigContextAuthInfo string            `json:",omitempty"`

	FromEnvironment bool `json:",omitempty"`

	ProxyURL        string        `json:",omitempty"`
	TLSServerName   string        `json:",omitempty"`
	Insecure        bool          `json:",omitempty"`
	ImpersonateUser string        `json:",omitempty"`
	QPS             float32       `json:",omitempty"` // default no limit
	Burst           int           `json:",omitempty"` // default 100, no effect without QPS
	RequestTimeout  time.Duration `json:",omitempty"` // default 30s

	// Namespaces are those in which the identity may list release records, nil for all.
	Namespaces []string `json:",omitempty"`
}

// Exec is a command that prints credentials. Its arguments and its environment can contain
// credentials.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string          `json:"-"`
	Env        map[string]string `json:"-"`
	Timeout    time.Duration     `json:"-"` // default 1m
}

// ConnectionError describes an invalid setting of a connection.
type ConnectionError struct {
	Attribute string
	Message   string
}

func (e *ConnectionError) Error() string { return e.Attribute + " " + e.Message }

// BeginsWithName lets the name of the attribute stay as it is at the beginning of a sentence.
func (e *ConnectionError) BeginsWithName() {}

const (
	unlimited             = -1 // to client-go, where 0 means 5
	defaultBurst          = 100
	defaultRequestTimeout = 30 * time.Second
	userAgent             = "terraform-provider-fleet"
)

// Validate finds settings that contradict each other or are incomplete. It returns one error that
// joins a *ConnectionError for each of them. It reads no file.
func (c Connection) Validate() error {
	var errs []error
	wrong := func(attribute, message string) {
		errs = append(errs, &ConnectionError{Attribute: attribute, Message: message})
	}
	if ways := given(c.places()); len(ways) > 1 {
		wrong(ways[1], "cannot be combined with "+ways[0]+": set only one of them")
	}
	authentications := given(c.authentications())
	switch {
	case c.Host != "" && len(authentications) == 0:
		wrong("host", "needs a way to authenticate: token, token_file, username, client_certificate or exec")
	case len(authentications) > 1:
		wrong(authentications[1], "cannot be combined with "+authentications[0]+": set only one way to authenticate")
	case c.Host == "" && len(authentications) > 0:
		wrong(authentications[0], "needs host; a kubeconfig contains its own credentials")
	}
	if c.Host != "" {
		for _, setting := range given(c.contexts()) {
			wrong(setting, "applies to a kubeconfig and has no effect with host")
		}
	}
	if (c.Username == "") != c.Password.IsZero() {
		wrong("username", "and password must be set together")
	}
	if (c.ClientCertificate == "") != c.ClientKey.IsZero() {
		wrong("client_certificate", "and client_key must be set together")
	}
	if c.Insecure && c.ClusterCACertificate != "" {
		wrong("insecure", "cannot be combined with cluster_ca_certificate")
	}
	for attribute, text := range map[string]string{
		"cluster_ca_certificate": c.ClusterCACertificate, "client_certificate": c.ClientCertificate, "client_key": c.ClientKey.Reveal(),
	} {
		if block, _ := pem.Decode([]byte(text)); text != "" && block == nil {
			wrong(attribute, "is not PEM; if it is base64, decode it with base64decode")
		}
	}
	if proxy, err := url.Parse(c.ProxyURL); c.ProxyURL != "" && (err != nil || proxy.Host == "") {
		wrong("proxy_url", "is not a valid URL")
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// setting is an attribute and whether it was given.
type setting struct {
	name  string
	given bool
}

func given(settings []setting) []string {
	var names []string
	for _, s := range settings {
		if s.given {
			names = append(names, s.name)
		}
	}
	return names
}

func (c Connection) places() []setting {
	return []setting{
		{"host", c.Host != ""},
		{"kubeconfig", !c.Kubeconfig.IsZero()},
		{"config_path", len(c.ConfigPaths) > 0},
		{"from_environment", c.FromEnvironment},
	}
}

// Require returns a *ConnectionError if the connection leads nowhere.
func (c Connection) Require() error {
	if len(given(c.places())) > 0 {
		return nil
	}
	return &ConnectionError{
		Attribute: "host",
		Message: "or another connection is missing; set host, kubeconfig or config_path, " +
			"or set from_environment = true to use environment variables such as KUBECONFIG",
	}
}

func (c Connection) authentications() []setting {
	return []setting{
		{"token", !c.Token.IsZero()},
		{"token_file", c.TokenFile != ""},
		{"username", c.Username != "" || !c.Password.IsZero()},
		{"client_certificate", c.ClientCertificate != "" || !c.ClientKey.IsZero()},
		{"exec", c.Exec != nil},
	}
}

func (c Connection) contexts() []setting {
	return []setting{
		{"config_context", c.ConfigContext != ""},
		{"config_context_cluster", c.ConfigContextCluster != ""},
		{"config_context_auth_info", c.ConfigContextAuthInfo != ""},
	}
}

// restConfig makes the configuration of a client. It reads kubeconfig files that the connection
// or the environment names through kubeconfigs.
func (c Connection) restConfig(kubeconfigs *Kubeconfigs, masker *mask.Masker) (*rest.Config, error) {
	if err := c.Require(); err != nil {
		return nil, err
	}
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	c.AddSecrets(masker) // The secrets from the environment.
	config, err := c.base(kubeconfigs)
	if err != nil {
		return nil, err
	}
	if c.ProxyURL != "" {
		proxy, _ := url.Parse(c.ProxyURL) // Validate has parsed it.
		config.Proxy = http.ProxyURL(proxy)
	}
	if c.TLSServerName != "" {
		config.ServerName = c.TLSServerName
	}
	if c.ClusterCACertificate != "" {
		config.Insecure = false
		config.CAData = []byte(c.ClusterCACertificate)
		config.CAFile = ""
	}
	if c.Insecure {
		config.Insecure = true
		config.CAData = nil
		config.CAFile = ""
	}
	if c.ImpersonateUser != "" {
		config.Impersonate.UserName = c.ImpersonateUser
	}
	config.UserAgent = userAgent
	config.QPS = cmp.Or(max(c.QPS, 0), unlimited)
	config.Burst = cmp.Or(max(c.Burst, 0), defaultBurst)
	config.Timeout = cmp.Or(max(c.RequestTimeout, 0), defaultRequestTimeout)
	return config, nil
}

func (c Connection) base(kubeconfigs *Kubeconfigs) (*rest.Config, error) {
	switch {
	case c.Host != "":
		return c.direct()
	case !c.Kubeconfig.IsZero():
		config, err := loadContent(c.Kubeconfig.Reveal())
		if err != nil {
			return nil, err
		}
		return c.fromContext(config, "the given kubeconfig")
	}
	return c.fromFiles(c.ConfigPaths, kubeconfigs)
}

func loadContent(content string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.Load([]byte(content))
	if err != nil {
		return nil, errors.New("kubeconfig cannot be read: it is not a kubeconfig in YAML or JSON") // The parser's message can quote the content.
	}
	return config, nil
}

func (c Connection) direct() (*rest.Config, error) {
	config := &rest.Config{
		Host:         withScheme(c.Host),
		BearerToken:  c.Token.Reveal(),
		Username:     c.Username,
		Password:     c.Password.Reveal(),
		ExecProvider: c.Exec.config(),
		TLSClientConfig: rest.TLSClientConfig{
			CertData: []byte(c.ClientCertificate),
			KeyData:  []byte(c.ClientKey.Reveal()),
		},
	}
	if c.TokenFile != "" {
		path, err := expandHome(c.TokenFile)
		if err != nil {
			return nil, err
		}
		// client-go would read a BearerTokenFile now. This file is read with the first request, and
		// again after tokenTime or a 401.
		config.Wrap(tokenFrom("token_file", path).wrap)
	}
	return config, nil
}

// config returns the command as client-go has it, nil for none.
func (e *Exec) config() *clientcmdapi.ExecConfig {
	if e == nil {
		return nil
	}
	config := &clientcmdapi.ExecConfig{
		APIVersion: e.APIVersion, Command: e.Command, Args: e.Args, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		config.Env = append(config.Env, clientcmdapi.ExecEnvVar{Name: name, Value: e.Env[name]})
	}
	return config
}

// withScheme adds https to an address without a scheme. client-go would use http and send
// credentials unencrypted, unless a certificate is given as well.
func withScheme(host string) string {
	if strings.Contains(host, "://") {
		return host
	}
	return "https://" + host
}

func (c Connection) fromFiles(paths []string, kubeconfigs *Kubeconfigs) (*rest.Config, error) {
	expanded := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if expanded[i], err = expandHome(path); err != nil {
			return nil, err
		}
	}
	config, err := kubeconfigs.load(expanded)
	if err != nil {
		return nil, err
	}
	return c.fromContext(config, "the kubeconfig "+strings.Join(expanded, ", "))
}

// contextOf returns the name of the context to use. The current context of a kubeconfig changes with
// the work of its user, so it counts only for a connection from the environment.
func (c Connection) contextOf(config *clientcmdapi.Config, where string) (string, error) {
	known := slices.Sorted(maps.Keys(config.Contexts))
	name := c.ConfigContext
	if name == "" && c.FromEnvironment {
		name = config.CurrentContext
	}
	switch {
	case name == "" && len(known) == 1:
		return known[0], nil
	case name == "" && c.ConfigContextCluster != "" && c.ConfigContextAuthInfo != "":
		config.CurrentContext = ""
		return "", nil
	case name == "" && len(known) == 0:
		return "", fmt.Errorf("%s has no contexts", where)
	case name == "":
		return "", &ConnectionError{
			Attribute: "config_context",
			Message: fmt.Sprintf("is missing, and %s has %d contexts; set it to one of: %s",
				where, len(known), strings.Join(known, ", ")),
		}
	case config.Contexts[name] == nil:
		return "", fmt.Errorf("%s has no context %q; its contexts are: %s", where, name, strings.Join(known, ", "))
	}
	return name, nil
}

// fromContext uses one context of a kubeconfig. where names the kubeconfig in errors.
func (c Connection) fromContext(config *clientcmdapi.Config, where string) (*rest.Config, error) {
	name, err := c.contextOf(config, where)
	if err != nil {
		return nil, err
	}
	token, err := c.ownFiles(config, name)
	if err != nil {
		return nil, err
	}
	overrides := &clientcmd.ConfigOverrides{
		Context: clientcmdapi.Context{Cluster: c.ConfigContextCluster, AuthInfo: c.ConfigContextAuthInfo},
	}
	picked, err := clientcmd.NewNonInteractiveClientConfig(*config, name, overrides, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading context %q of %s: %w", name, where, err)
	}
	if token != "" && rest.IsConfigTransportTLS(*picked) { // Like client-go, which sends no credentials unencrypted.
		picked.Wrap(tokenFrom("tokenFile of the kubeconfig", token).wrap)
	}
	return picked, nil
}
