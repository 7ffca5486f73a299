package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

const (
	// commandTime is how long a command may take that prints credentials. Nobody can type
	// anything into it, so what takes longer waits for something that does not come.
	commandTime = time.Minute
	// printedLimit is how much a command may print, in bytes, stderrLimit how much is kept of
	// what it writes to standard error, and shownLimit how much of its last line is shown.
	printedLimit = 1 << 20
	stderrLimit  = 64 << 10
	shownLimit   = 500
	// closing is how long output is read that others hold open when a command has ended.
	closing = 2 * time.Second
)

// CredentialsError says that a command gave no credentials. It does not hold the arguments
// of the command, nor what it printed: both can be secret. Of what it wrote to standard error
// it contains the last line, without values of its environment.
type CredentialsError struct {
	Command string
	Err     error
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("getting credentials from the command %s: %v", e.Command, e.Err)
}

// Unwrap gives the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

var (
	errPrintsTooMuch = fmt.Errorf("it printed more than %d MiB and was stopped", printedLimit>>20)
	errNoTerminal    = errors.New("its interactiveMode is Always, and there is no terminal. Use a command that needs no input")
)

// command prints credentials, as client-go's plugins do
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).
type command struct {
	Version schema.GroupVersion
	Name    string
	Args    []string
	Env     []string
	// Info is the information about the cluster that the command receives.
	Info []byte
	// Limit is how long it may take.
	Limit time.Duration
}

// transportFor makes the transport of a configuration. A command that it names may take
// limit.
func transportFor(config *rest.Config, limit time.Duration) (http.RoundTripper, error) {
	plain := rest.CopyConfig(config)
	plain.ExecProvider = nil
	made, err := plain.TransportConfig()
	if err != nil {
		return nil, err
	}
	// As in client-go, credentials that are given win.
	if config.ExecProvider != nil && !made.HasTokenAuth() && !made.HasBasicAuth() && !made.HasCertAuth() {
		by, err := commandOf(config, limit)
		if err != nil {
			return nil, err
		}
		made.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return timeoutTransport{next: next, limit: config.Timeout}
		})
		authenticatorOf(by).install(made)
	}
	return transport.New(made)
}

func commandOf(config *rest.Config, limit time.Duration) (command, error) {
	from := config.ExecProvider
	if config.AuthProvider != nil {
		return command{}, errors.New("exec and auth-provider cannot be combined")
	}
	versions := []schema.GroupVersion{clientauthenticationv1.SchemeGroupVersion, clientauthenticationv1beta1.SchemeGroupVersion}
	i := slices.IndexFunc(versions, func(v schema.GroupVersion) bool { return v.String() == from.APIVersion })
	if i < 0 {
		return command{}, &CredentialsError{Command: from.Command, Err: fmt.Errorf("the apiVersion %q is neither %s nor %s", from.APIVersion, versions[0], versions[1])}
	}
	if from.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return command{}, &CredentialsError{Command: from.Command, Err: errNoTerminal}
	}
	made := command{Version: versions[i], Name: from.Command, Args: from.Args, Limit: limit}
	for _, variable := range from.Env {
		made.Env = append(made.Env, variable.Name+"="+variable.Value)
	}
	told := &clientauthentication.ExecCredential{}
	if from.ProvideClusterInfo {
		var err error
		if told.Spec.Cluster, err = rest.ConfigToExecCluster(config); err != nil {
			return command{}, err
		}
	}
	var err error
	if made.Info, err = runtime.Encode(codecs().LegacyCodec(made.Version), told); err != nil {
		return command{}, fmt.Errorf("encoding the cluster information for the command %s: %w", from.Command, err)
	}
	return made, nil
}

//nolint:gochecknoglobals // a constant
var codecs = sync.OnceValue(func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme)
})

// authenticators are those of all clusters, by command: one that serves many clusters in
// the same way runs once for all of them, as in client-go.
var authenticators = struct { //nolint:gochecknoglobals // the result of a command is valid for the process
	mu sync.Mutex
	of map[string]*authenticator
}{of: map[string]*authenticator{}}

func authenticatorOf(c command) *authenticator {
	key, _ := json.Marshal(c) // It contains nothing that JSON cannot.
	authenticators.mu.Lock()
	defer authenticators.mu.Unlock()
	known := authenticators.of[string(key)]
	if known == nil {
		known = newAuthenticator(c.Limit, c.run)
		authenticators.of[string(key)] = known
	}
	return known
}

// run reads credentials from what the command prints. When ctx ends it is killed, and
// whatever it has started with it.
func (c command) run(ctx context.Context) (*credentials, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	printed := &limitedOutput{full: func() { stop(errPrintsTooMuch) }}
	process := exec.CommandContext(ctx, c.Name, c.Args...) //nolint:gosec // the user's configuration names it
	process.Env = slices.Concat(os.Environ(), c.Env, []string{"KUBERNETES_EXEC_INFO=" + string(c.Info)})
	said := &tail{}
	process.Stdout, process.Stderr = printed, said
	process.WaitDelay = closing
	asGroup(process)
	err := process.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // It ended; others hold its output open.
		var got *credentials
		if got, err = c.decode(printed.content.Bytes()); err == nil {
			return got, nil
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not end within %s and was stopped. Run it in a terminal: it may wait for input or for a login, and neither is possible here", c.Limit)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if line := c.shown(said.String(), printed.content.Bytes()); line != "" {
		err = fmt.Errorf("%w; it reported: %s", err, line)
	}
	return nil, &CredentialsError{Command: c.Name, Err: err}
}

// shown is the last line of what the command wrote to standard error, without what is secret
// in its environment, its arguments and its output.
func (c command) shown(said string, printed []byte) string {
	masker := &diff.Masker{}
	for _, variable := range c.Env {
		_, value, _ := strings.Cut(variable, "=")
		masker.Add(value)
	}
	addArguments(masker, c.Args)
	var output map[string]any
	if json.Unmarshal(printed, &output) == nil {
		masker.AddValues(output["status"])
	}
	return diff.LastLine(diff.Printable(masker.Text(said)), shownLimit)
}

func (c command) decode(content []byte) (*credentials, error) {
	var said clientauthentication.ExecCredential
	_, kind, err := codecs().UniversalDecoder(c.Version).Decode(content, nil, &said)
	if err != nil {
		return nil, fmt.Errorf("its output is not an ExecCredential of %s", c.Version)
	}
	if kind.GroupVersion() != c.Version {
		return nil, fmt.Errorf("it printed an ExecCredential of %s, and %s is configured", kind.GroupVersion(), c.Version)
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

// limitedOutput is what a command has printed.
type limitedOutput struct {
	content bytes.Buffer
	full    func()
}

func (p *limitedOutput) Write(content []byte) (int, error) {
	if p.content.Len()+len(content) > printedLimit {
		p.full()
		return 0, errPrintsTooMuch
	}
	return p.content.Write(content)
}

// tail keeps the end of what is written to it, from the beginning of a line.
type tail struct {
	content []byte
	cut     bool
}

func (t *tail) Write(content []byte) (int, error) {
	t.content = append(t.content, content[max(0, len(content)-stderrLimit):]...)
	if more := len(t.content) - stderrLimit; more > 0 || len(content) > stderrLimit {
		t.content, t.cut = append([]byte(nil), t.content[max(0, more):]...), true
	}
	return len(content), nil
}

// String leaves out a line whose beginning was dropped: half a secret is not recognized.
func (t *tail) String() string {
	if !t.cut {
		return string(t.content)
	}
	_, whole, _ := strings.Cut(string(t.content), "\n")
	return whole
}
