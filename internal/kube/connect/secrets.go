package connect

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// AddSecrets adds the credentials of a connection to a masker. Credentials in files are added by
// New and by the requests that they sign.
func (c Connection) AddSecrets(masker *mask.Masker) {
	masker.Add(c.Token, c.Password, c.ClientKey)
	addUser(masker, c.Host)
	addUser(masker, c.ProxyURL)
	if c.Exec != nil {
		for _, value := range c.Exec.Env {
			masker.Add(value)
		}
		masker.Add(command.SecretArguments(c.Exec.Args)...)
	}
	if c.Kubeconfig != "" {
		if config, err := loadContent(c.Kubeconfig); err == nil {
			addUsers(masker, config)
		}
	}
}

// addUsers adds the credentials of all users of a kubeconfig.
func addUsers(masker *mask.Masker, config *clientcmdapi.Config) {
	for _, user := range config.AuthInfos {
		masker.Add(user.Token, user.Password, string(user.ClientKeyData))
		if user.AuthProvider != nil {
			for _, value := range user.AuthProvider.Config {
				masker.Add(value)
			}
		}
		if user.Exec != nil {
			for _, variable := range user.Exec.Env {
				masker.Add(variable.Value)
			}
			masker.Add(command.SecretArguments(user.Exec.Args)...)
		}
	}
	for _, cluster := range config.Clusters {
		addUser(masker, cluster.Server)
		addUser(masker, cluster.ProxyURL)
	}
}

// addUser adds the user and the password of an address. A user without a password can be a token.
func addUser(masker *mask.Masker, address string) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.User == nil {
		return
	}
	password, _ := parsed.User.Password()
	masker.Add(password, parsed.User.String())
}

// addConfig adds the credentials of a configuration, from any source.
func addConfig(masker *mask.Masker, config *rest.Config) {
	masker.Add(config.BearerToken, config.Password, string(config.KeyData))
	if config.ExecProvider != nil {
		for _, variable := range config.ExecProvider.Env {
			masker.Add(variable.Value)
		}
		masker.Add(command.SecretArguments(config.ExecProvider.Args)...)
	}
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	addUser(masker, config.Host)
	server, err := url.Parse(config.Host)
	if err != nil {
		return
	}
	if through, err := proxy(&http.Request{URL: server}); err == nil && through != nil {
		addUser(masker, through.String())
	}
}

// credentialCollector is a transport that adds the credentials of each request to a masker, from
// any source. A server can repeat the credentials in its response.
type credentialCollector struct {
	next   http.RoundTripper
	masker *mask.Masker
	last   *atomic.Value
}

// WrappedRoundTripper lets client-go find the transport below.
func (l credentialCollector) WrappedRoundTripper() http.RoundTripper { return l.next }

func (l credentialCollector) RoundTrip(request *http.Request) (*http.Response, error) {
	if header := request.Header.Get("Authorization"); header != "" && l.last.Swap(header) != header {
		l.collect(header)
	}
	return l.next.RoundTrip(request)
}

func (l credentialCollector) collect(header string) {
	scheme, credentials, _ := strings.Cut(header, " ")
	l.masker.Add(credentials)
	if strings.EqualFold(scheme, "Basic") {
		if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			l.masker.Add(password)
		}
	}
}
