package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	"k8s.io/client-go/pkg/apis/clientauthentication/install"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	clientauthenticationv1beta1 "k8s.io/client-go/pkg/apis/clientauthentication/v1beta1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
)

var errNoTerminal = errors.New("its interactiveMode is Always, and there is no terminal. Use a command that needs no input")

// plugin is a command that prints credentials, as client-go's plugins do
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).
type plugin struct {
	command.Command

	Version schema.GroupVersion
	// Info is the information about the cluster that the command receives.
	Info []byte
}

// transportFor makes the transport of a configuration. The command of the configuration may take
// limit.
func transportFor(config *rest.Config, limit time.Duration) (http.RoundTripper, error) {
	plain := rest.CopyConfig(config)
	plain.ExecProvider = nil
	made, err := plain.TransportConfig()
	if err != nil {
		return nil, err
	}
	// As in client-go, given credentials take precedence over a command.
	if config.ExecProvider != nil && !made.HasTokenAuth() && !made.HasBasicAuth() && !made.HasCertAuth() {
		by, err := commandOf(config, limit)
		if err != nil {
			return nil, err
		}
		made.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return timeoutTransport{wrapper: wrapper{next}, limit: config.Timeout}
		})
		authenticatorOf(by).install(made)
	}
	return transport.New(made)
}

func commandOf(config *rest.Config, limit time.Duration) (plugin, error) {
	from := config.ExecProvider
	if config.AuthProvider != nil {
		return plugin{}, errors.New("exec and auth-provider cannot be combined")
	}
	versions := []schema.GroupVersion{clientauthenticationv1.SchemeGroupVersion, clientauthenticationv1beta1.SchemeGroupVersion}
	i := slices.IndexFunc(versions, func(v schema.GroupVersion) bool { return v.String() == from.APIVersion })
	if i < 0 {
		err := fmt.Errorf("the apiVersion %q is neither %s nor %s", from.APIVersion, versions[0], versions[1])
		return plugin{}, &command.CredentialsError{Command: from.Command, Err: err}
	}
	if from.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return plugin{}, &command.CredentialsError{Command: from.Command, Err: errNoTerminal}
	}
	made := plugin{Version: versions[i], Command: command.Command{Name: from.Command, Args: from.Args, Limit: limit}}
	for _, variable := range from.Env {
		made.Env = append(made.Env, variable.Name+"="+variable.Value)
	}
	told := &clientauthentication.ExecCredential{}
	if from.ProvideClusterInfo {
		var err error
		if told.Spec.Cluster, err = rest.ConfigToExecCluster(config); err != nil {
			return plugin{}, err
		}
	}
	var err error
	if made.Info, err = runtime.Encode(codecs().LegacyCodec(made.Version), told); err != nil {
		return plugin{}, fmt.Errorf("encoding the cluster information for the command %s: %w", from.Command, err)
	}
	return made, nil
}

//nolint:gochecknoglobals // a constant
var codecs = sync.OnceValue(func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme)
})

// authenticators contains the authenticators of all clusters, by command. A command that is the
// same for many clusters runs once for all of them, as in client-go.
var authenticators = struct { //nolint:gochecknoglobals // the result of a command is valid for the process
	mu sync.Mutex
	of map[string]*authenticator
}{of: map[string]*authenticator{}}

func authenticatorOf(c plugin) *authenticator {
	key, _ := json.Marshal(c) // JSON can encode everything in it.
	authenticators.mu.Lock()
	defer authenticators.mu.Unlock()
	known := authenticators.of[string(key)]
	if known == nil {
		known = newAuthenticator(c.Limit, c.run)
		authenticators.of[string(key)] = known
	}
	return known
}

// run reads credentials from what the command prints. The error is a *command.CredentialsError.
func (p plugin) run(ctx context.Context) (got *credentials, err error) {
	by := p.Command
	by.Env = append(slices.Clone(by.Env), "KUBERNETES_EXEC_INFO="+string(p.Info))
	err = by.Run(ctx, func(printed []byte) error {
		got, err = p.decode(printed)
		return err
	}, func(printed map[string]any) any { return printed["status"] })
	return got, err
}

func (p plugin) decode(content []byte) (*credentials, error) {
	var said clientauthentication.ExecCredential
	_, kind, err := codecs().UniversalDecoder(p.Version).Decode(content, nil, &said)
	if err != nil {
		return nil, fmt.Errorf("its output is not an ExecCredential of %s", p.Version)
	}
	if kind.GroupVersion() != p.Version {
		return nil, fmt.Errorf("it printed an ExecCredential of %s, and %s is configured", kind.GroupVersion(), p.Version)
	}
	if said.Status == nil || said.Status.Token == "" && said.Status.ClientCertificateData == "" && said.Status.ClientKeyData == "" {
		return nil, errors.New("it printed neither a token nor a certificate")
	}
	read := &credentials{token: said.Status.Token}
	if said.Status.ExpirationTimestamp != nil {
		read.expires = said.Status.ExpirationTimestamp.Time
	}
	if said.Status.ClientCertificateData == "" && said.Status.ClientKeyData == "" {
		return read, nil
	}
	certificate, err := tls.X509KeyPair([]byte(said.Status.ClientCertificateData), []byte(said.Status.ClientKeyData))
	if err == nil {
		certificate.Leaf, err = x509.ParseCertificate(certificate.Certificate[0])
	}
	if err != nil {
		return nil, errors.New("it printed a certificate and a key that do not belong together, or only one of them")
	}
	read.certificate = &certificate
	return read, nil
}
