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
	masker.Add(c.Token.Reveal(), c.Password.Reveal(), c.ClientKey.Reveal())
	addUser(masker, c.Host)
	addUser(masker, c.ProxyURL)
	addExec(masker, c.Exec.config())
	if !c.Kubeconfig.IsZero() {
		if config, err := loadContent(c.Kubeconfig.Reveal()); err == nil {
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
		addExec(masker, user.Exec)
	}
	for _, cluster := range config.Clusters {
		addUser(masker, cluster.Server)
		addUser(masker, cluster.ProxyURL)
	}
}

// addExec adds the environment and the secret arguments of a command.
func addExec(masker *mask.Masker, exec *clientcmdapi.ExecConfig) {
	if exec == nil {
		return
	}
	for _, variable := range exec.Env {
		masker.Add(variable.Value)
	}
	masker.Add(command.SecretArguments(exec.Args)...)
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
	addExec(masker, config.ExecProvider)
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
	wrapper
	masker *mask.Masker
	last   *atomic.Value
}

func (c credentialCollector) RoundTrip(request *http.Request) (*http.Response, error) {
	if header := request.Header.Get("Authorization"); header != "" && c.last.Swap(header) != header {
		c.collect(header)
	}
	return c.next.RoundTrip(request)
}

func (c credentialCollector) collect(header string) {
	scheme, credentials, _ := strings.Cut(header, " ")
	c.masker.Add(credentials)
	if strings.EqualFold(scheme, "Basic") {
		if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			c.masker.Add(password)
		}
	}
}
