package connect

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// filled adds settings from environment variables to a connection from the environment. The
// variables are those of HashiCorp's kubernetes provider, and KUBECONFIG. A setting of the
// connection itself takes precedence.
func (c Connection) filled() (Connection, error) {
	if !c.FromEnvironment {
		return c, nil
	}
	filled := c
	fill := func(setting *string, variable string) { *setting = cmp.Or(*setting, os.Getenv(variable)) }
	hide := func(setting *secret.Of[string], variable string) {
		*setting = secret.Hide(cmp.Or(setting.Reveal(), os.Getenv(variable)))
	}
	fill(&filled.ProxyURL, "KUBE_PROXY_URL")
	fill(&filled.TLSServerName, "KUBE_TLS_SERVER_NAME")
	fill(&filled.ClusterCACertificate, "KUBE_CLUSTER_CA_CERT_DATA")
	if insecure := os.Getenv("KUBE_INSECURE"); insecure != "" && !c.Insecure {
		var err error
		if filled.Insecure, err = strconv.ParseBool(insecure); err != nil {
			return c, errors.New("KUBE_INSECURE is neither true nor false")
		}
	}
	// A context setting applies to a kubeconfig, not to a host.
	if os.Getenv("KUBE_HOST") != "" && len(given(c.contexts())) == 0 {
		fill(&filled.Host, "KUBE_HOST")
		hide(&filled.Token, "KUBE_TOKEN")
		fill(&filled.Username, "KUBE_USER")
		hide(&filled.Password, "KUBE_PASSWORD")
		fill(&filled.ClientCertificate, "KUBE_CLIENT_CERT_DATA")
		hide(&filled.ClientKey, "KUBE_CLIENT_KEY_DATA")
	} else {
		fill(&filled.ConfigContext, "KUBE_CTX")
		fill(&filled.ConfigContextCluster, "KUBE_CTX_CLUSTER")
		fill(&filled.ConfigContextAuthInfo, "KUBE_CTX_AUTH_INFO")
		paths := cmp.Or(os.Getenv("KUBE_CONFIG_PATHS"), os.Getenv("KUBE_CONFIG_PATH"), os.Getenv("KUBECONFIG"))
		if paths == "" {
			return c, &ConnectionError{
				Attribute: "from_environment",
				Message:   "finds no connection: none of KUBE_HOST, KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS and KUBECONFIG is set",
			}
		}
		filled.ConfigPaths = filepath.SplitList(paths)
	}
	connection := filled
	connection.FromEnvironment = false
	if err := connection.Validate(); err != nil {
		return c, fmt.Errorf("reading the connection from environment variables (KUBE_HOST and others): %w", err)
	}
	return filled, nil
}

// expandHome replaces a leading "~" by the home folder.
func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || (rest != "" && rest[0] != '/') {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home folder for %s: %w", path, err)
	}
	return filepath.Join(home, rest), nil
}
