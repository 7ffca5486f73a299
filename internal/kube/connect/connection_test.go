package connect

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const (
	host = "https://127.0.0.1:6443"
	ca   = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
	cert = "-----BEGIN CERTIFICATE-----\nMAE=\n-----END CERTIFICATE-----\n"
	pkey = "-----BEGIN PRIVATE KEY-----\nMAI=\n-----END PRIVATE KEY-----\n"
)

// kubeconfig has a context for each of two clusters.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: dev
  cluster: {server: "https://dev:6443", certificate-authority-data: Y2E=, tls-server-name: dev.example.com}
- name: open
  cluster: {server: "https://open:6443", insecure-skip-tls-verify: true, proxy-url: "http://proxy:3128"}
users:
- name: dev
  user: {token: dev-token}
- name: admin
  user: {username: admin, password: hunter2, as: somebody}
contexts:
- name: dev
  context: {cluster: dev, user: dev}
- name: open
  context: {cluster: open, user: admin}
`

type restConfigTest struct {
	connection Connection
	want       rest.Config
	proxy      string // of the transport
	wraps      bool   // the transport, to add a token
}

func restConfigTests() map[string]restConfigTest {
	dev := func(change func(*rest.Config)) rest.Config {
		config := rest.Config{
			Host: "https://dev:6443", BearerToken: "dev-token",
			TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "dev.example.com"},
		}
		if change != nil {
			change(&config)
		}
		return config
	}
	open := rest.Config{
		Host: "https://open:6443", Username: "admin", Password: "hunter2", Impersonate: rest.ImpersonationConfig{UserName: "somebody"},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	return map[string]restConfigTest{
		"token": {
			connection: Connection{Host: host, Token: secret.Hide("secret"), ClusterCACertificate: ca},
			want:       rest.Config{Host: host, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca)}},
		},
		"token file": {
			connection: Connection{Host: host, TokenFile: "file"},
			want:       rest.Config{Host: host}, wraps: true,
		},
		"password": {
			connection: Connection{Host: host, Username: "admin", Password: secret.Hide("hunter2")},
			want:       rest.Config{Host: host, Username: "admin", Password: "hunter2"},
		},
		"client certificate": {
			connection: Connection{Host: host, ClientCertificate: cert, ClientKey: secret.Hide(pkey)},
			want:       rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CertData: []byte(cert), KeyData: []byte(pkey)}},
		},
		"exec": {
			connection: Connection{Host: host, Exec: &Exec{
				APIVersion: "client.authentication.k8s.io/v1", Command: "aws", Args: []string{"eks", "get-token"}, Env: map[string]string{"B": "2", "A": "1"},
			}},
			want: rest.Config{Host: host, ExecProvider: &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "aws", Args: []string{"eks", "get-token"},
				Env:             []clientcmdapi.ExecEnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}},
		},
		"everything else": {
			connection: Connection{
				Host: host, Token: secret.Hide("secret"), ProxyURL: "http://proxy:8080", TLSServerName: "k8s.example.com", Insecure: true,
				ImpersonateUser: "deployer", QPS: 7, Burst: 9, RequestTimeout: time.Minute,
			},
			want: rest.Config{
				Host: host, BearerToken: "secret", Impersonate: rest.ImpersonationConfig{UserName: "deployer"},
				TLSClientConfig: rest.TLSClientConfig{ServerName: "k8s.example.com", Insecure: true}, QPS: 7, Burst: 9, Timeout: time.Minute,
			},
			proxy: "http://proxy:8080",
		},
		"address without a scheme": {
			connection: Connection{Host: "10.0.0.1:6443", Token: secret.Hide("secret")}, want: rest.Config{Host: "https://10.0.0.1:6443", BearerToken: "secret"},
		},
		"address in the clear": {
			connection: Connection{Host: "http://127.0.0.1:8080", Token: secret.Hide("secret")}, want: rest.Config{Host: "http://127.0.0.1:8080", BearerToken: "secret"},
		},
		"context": {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev"}, want: dev(nil)},
		"only context": {
			connection: Connection{Kubeconfig: secret.Hide(strings.Replace(kubeconfig, "- name: open\n  context: {cluster: open, user: admin}\n", "", 1))}, want: dev(nil),
		},
		"cluster and user without a context": {
			connection: Connection{Kubeconfig: secret.Hide(strings.Replace(kubeconfig, "current-context: dev", "current-context: gone", 1)), ConfigContextCluster: "dev", ConfigContextAuthInfo: "dev"}, want: dev(nil),
		},
		"named context": {
			connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "open"}, want: open, proxy: "http://proxy:3128",
		},
		"another cluster": {
			connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "open", ConfigContextCluster: "dev"},
			want: dev(func(c *rest.Config) {
				c.BearerToken, c.Username, c.Password, c.Impersonate.UserName = "", "admin", "hunter2", "somebody"
			}),
		},
		"another user": {
			connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "open", ConfigContextAuthInfo: "dev"},
			want:       rest.Config{Host: "https://open:6443", BearerToken: "dev-token", TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
			proxy:      "http://proxy:3128",
		},
		"kubeconfig with settings on top": {
			connection: Connection{
				Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev", ProxyURL: "http://mine:1", TLSServerName: "mine.example.com", ImpersonateUser: "deployer", ClusterCACertificate: ca,
			},
			want: dev(func(c *rest.Config) {
				c.ServerName, c.Impersonate.UserName, c.CAData = "mine.example.com", "deployer", []byte(ca)
			}),
			proxy: "http://mine:1",
		},
		"certificate on top of an insecure cluster": {
			connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "open", ClusterCACertificate: ca},
			want: rest.Config{
				Host: "https://open:6443", Username: "admin", Password: "hunter2", Impersonate: rest.ImpersonationConfig{UserName: "somebody"},
				TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca)},
			},
			proxy: "http://proxy:3128",
		},
		"insecure on top of a certificate": {
			connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev", Insecure: true},
			want:       dev(func(c *rest.Config) { c.Insecure, c.CAData = true, nil }),
		},
	}
}

// expectConfig compares two configurations. It calls their functions instead of comparing them, and
// fills in defaults.
func expectConfig(t *testing.T, want, got *rest.Config, proxy string, wraps bool) {
	t.Helper()
	want.UserAgent = userAgent
	if want.QPS == 0 {
		want.QPS, want.Burst, want.Timeout = -1, 100, 30*time.Second
	}
	ignored := cmpopts.IgnoreFields(rest.Config{}, "Proxy", "WrapTransport")
	if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(clientcmdapi.ExecConfig{})); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if (got.WrapTransport != nil) != wraps {
		t.Errorf("transport is wrapped: %t, want %t", got.WrapTransport != nil, wraps)
	}
	used := ""
	if got.Proxy != nil {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if through, err := got.Proxy(request); err != nil || through == nil {
			t.Errorf("proxy = %v, %v", through, err)
		} else {
			used = through.String()
		}
	}
	if used != proxy {
		t.Errorf("proxy = %q, want %q", used, proxy)
	}
}

func TestRestConfig(t *testing.T) {
	t.Parallel()
	for name, test := range restConfigTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.connection.Validate(); err != nil {
				t.Fatal(err)
			}
			got, err := test.connection.restConfig(new(Kubeconfigs), &mask.Masker{})
			if err != nil {
				t.Fatal(err)
			}
			expectConfig(t, &test.want, got, test.proxy, test.wraps)
		})
	}
}

// A new setting needs a row.
func TestRestConfigCoversEverySetting(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"ConfigPaths", "FromEnvironment", "Namespaces"} // in TestKubeconfigFiles, TestEnvironment, and helm
	settings := reflect.TypeFor[Connection]()
	for i := range settings.NumField() {
		name := settings.Field(i).Name
		covered := slices.Contains(elsewhere, name)
		for _, test := range restConfigTests() {
			covered = covered || !reflect.ValueOf(test.connection).Field(i).IsZero()
		}
		if !covered {
			t.Errorf("no test gives %s", name)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	token := Connection{Host: host, Token: secret.Hide("secret")}
	with := func(change func(*Connection)) Connection {
		changed := token
		change(&changed)
		return changed
	}
	tests := map[string]struct {
		connection Connection
		want       []string // attribute and the beginning of the message
	}{
		"nothing, for facts alone":          {},
		"host and token":                    {connection: token},
		"kubeconfig":                        {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev"}},
		"context alone":                     {connection: Connection{ConfigContext: "dev"}},
		"environment and context":           {connection: Connection{FromEnvironment: true, ConfigContext: "dev"}},
		"environment and host":              {connection: with(func(c *Connection) { c.FromEnvironment = true }), want: []string{"from_environment cannot be combined with host"}},
		"environment and files":             {connection: Connection{FromEnvironment: true, ConfigPaths: []string{"a"}}, want: []string{"from_environment cannot be combined with config_path"}},
		"no way to authenticate":            {connection: Connection{Host: host}, want: []string{"host needs a way to authenticate"}},
		"host and kubeconfig":               {connection: with(func(c *Connection) { c.Kubeconfig = secret.Hide(kubeconfig) }), want: []string{"kubeconfig cannot be combined with host"}},
		"host and files":                    {connection: with(func(c *Connection) { c.ConfigPaths = []string{"a"} }), want: []string{"config_path cannot be combined with host"}},
		"kubeconfig and files":              {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigPaths: []string{"a"}}, want: []string{"config_path cannot be combined with kubeconfig"}},
		"token and file":                    {connection: with(func(c *Connection) { c.TokenFile = "f" }), want: []string{"token_file cannot be combined with token"}},
		"token and password":                {connection: with(func(c *Connection) { c.Username, c.Password = "u", secret.Hide("p") }), want: []string{"username cannot be combined with token"}},
		"token and certificate":             {connection: with(func(c *Connection) { c.ClientCertificate, c.ClientKey = cert, secret.Hide(pkey) }), want: []string{"client_certificate cannot be combined with token"}},
		"token and exec":                    {connection: with(func(c *Connection) { c.Exec = &Exec{Command: "x"} }), want: []string{"exec cannot be combined with token"}},
		"file and exec":                     {connection: Connection{Host: host, TokenFile: "f", Exec: &Exec{Command: "x"}}, want: []string{"exec cannot be combined with token_file"}},
		"password and certificate":          {connection: Connection{Host: host, Username: "u", Password: secret.Hide("p"), ClientCertificate: cert, ClientKey: secret.Hide(pkey)}, want: []string{"client_certificate cannot be combined with username"}},
		"token of a kubeconfig":             {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), Token: secret.Hide("secret")}, want: []string{"token needs host"}},
		"token alone":                       {connection: Connection{Token: secret.Hide("secret")}, want: []string{"token needs host"}},
		"context of a host":                 {connection: with(func(c *Connection) { c.ConfigContext = "dev" }), want: []string{"config_context applies to a kubeconfig"}},
		"cluster and user of a host":        {connection: with(func(c *Connection) { c.ConfigContextCluster, c.ConfigContextAuthInfo = "a", "b" }), want: []string{"config_context_auth_info applies to a kubeconfig", "config_context_cluster applies to a kubeconfig"}},
		"user without password":             {connection: Connection{Host: host, Username: "u"}, want: []string{"username and password must be set together"}},
		"password without user":             {connection: Connection{Host: host, Password: secret.Hide("p")}, want: []string{"username and password must be set together"}},
		"certificate without key":           {connection: Connection{Host: host, ClientCertificate: cert}, want: []string{"client_certificate and client_key must be set together"}},
		"key without certificate":           {connection: Connection{Host: host, ClientKey: secret.Hide(pkey)}, want: []string{"client_certificate and client_key must be set together"}},
		"insecure with a certificate":       {connection: with(func(c *Connection) { c.Insecure, c.ClusterCACertificate = true, ca }), want: []string{"insecure cannot be combined with cluster_ca_certificate"}},
		"certificate in base64":             {connection: with(func(c *Connection) { c.ClusterCACertificate = "LS0tLS1CRUdJTg==" }), want: []string{"cluster_ca_certificate is not PEM"}},
		"client certificate and key in DER": {connection: Connection{Host: host, ClientCertificate: "0", ClientKey: secret.Hide("0")}, want: []string{"client_certificate is not PEM", "client_key is not PEM"}},
		"proxy without a scheme":            {connection: with(func(c *Connection) { c.ProxyURL = "proxy" }), want: []string{"proxy_url is not a valid URL"}},
		"proxy that is no URL":              {connection: with(func(c *Connection) { c.ProxyURL = "http://%zz" }), want: []string{"proxy_url is not a valid URL"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.connection.Validate()
			var got []string
			var joined interface{ Unwrap() []error }
			if errors.As(err, &joined) {
				for _, one := range joined.Unwrap() {
					got = append(got, one.Error())
					if !errors.As(one, new(*ConnectionError)) {
						t.Errorf("%v is a %T", one, one)
					}
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("errors = %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("error %d = %q, want it to begin with %q", i, got[i], want)
				}
			}
			if _, err := new(Kubeconfigs).Config(test.connection, nil); len(test.want) > 0 && err == nil {
				t.Error("New takes it")
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a credential: %v", err)
			}
		})
	}
}

func TestKubeconfigFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole", kubeconfig)
	relative := write("relative", strings.Replace(kubeconfig, "certificate-authority-data: Y2E=", "certificate-authority: ca.pem", 1))
	write("ca.pem", ca)
	users := write("users", "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: from-users}}]\ncontexts: [{name: both, context: {cluster: cl, user: u}}]\n")
	clusters := write("clusters", "apiVersion: v1\nkind: Config\nclusters: [{name: cl, cluster: {server: 'https://cl:6443'}}]\n")
	tests := map[string]struct {
		connection Connection
		want       rest.Config
	}{
		"one": {
			connection: Connection{ConfigPaths: []string{whole}, ConfigContext: "dev"},
			want:       rest.Config{Host: "https://dev:6443", BearerToken: "dev-token", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "dev.example.com"}},
		},
		"several are merged": {
			connection: Connection{ConfigPaths: []string{users, clusters}, ConfigContext: "both"},
			want:       rest.Config{Host: "https://cl:6443", BearerToken: "from-users"},
		},
		"the first wins": {
			connection: Connection{ConfigPaths: []string{clusters, whole}, ConfigContext: "dev"},
			want:       rest.Config{Host: "https://dev:6443", BearerToken: "dev-token", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "dev.example.com"}},
		},
		"paths in it are relative to it": {
			connection: Connection{ConfigPaths: []string{relative}, ConfigContext: "dev"},
			want:       rest.Config{Host: "https://dev:6443", BearerToken: "dev-token", TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.pem"), ServerName: "dev.example.com"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.connection.restConfig(new(Kubeconfigs), &mask.Masker{})
			if err != nil {
				t.Fatal(err)
			}
			expectConfig(t, &test.want, got, "", false)
		})
	}
}

func TestKubeconfigErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("users: hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		connection Connection
		want       []string // in the error
	}{
		"context missing":    {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "prod"}, want: []string{`no context "prod"`, "dev, open"}},
		"context left out":   {connection: Connection{Kubeconfig: secret.Hide(kubeconfig)}, want: []string{"config_context is missing", "2 contexts", "dev, open"}},
		"user left out":      {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContextCluster: "dev"}, want: []string{"config_context is missing"}},
		"no contexts":        {connection: Connection{Kubeconfig: secret.Hide("apiVersion: v1\nkind: Config\n")}, want: []string{"no contexts"}},
		"cluster missing":    {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev", ConfigContextCluster: "prod"}, want: []string{`"dev"`, `"prod"`}},
		"user missing":       {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev", ConfigContextAuthInfo: "prod"}, want: []string{`"dev"`, `"prod"`}},
		"no kubeconfig":      {connection: Connection{Kubeconfig: secret.Hide("users: hunter2")}, want: []string{"kubeconfig cannot be read"}},
		"file missing":       {connection: Connection{ConfigPaths: []string{missing}}, want: []string{missing}},
		"file is no config":  {connection: Connection{ConfigPaths: []string{broken}}, want: []string{broken}},
		"second one missing": {connection: Connection{ConfigPaths: []string{broken, missing}}, want: []string{missing}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := new(Kubeconfigs).Config(test.connection, nil)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %q, want %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "dev-token") {
				t.Errorf("the error shows a credential: %v", err)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".kube", "config")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile := rest.Config{Host: "https://dev:6443", BearerToken: "dev-token", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "dev.example.com"}}
	open := rest.Config{
		Host: "https://open:6443", Username: "admin", Password: "hunter2", Impersonate: rest.ImpersonationConfig{UserName: "somebody"},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	direct := map[string]string{"KUBE_HOST": "https://env:6443", "KUBE_TOKEN": "env-token", "KUBE_CLUSTER_CA_CERT_DATA": ca}
	tests := map[string]struct {
		connection  Connection
		environment map[string]string
		want        rest.Config
		proxy       string
		fails       string // in the error
	}{
		"nothing":                   {connection: Connection{FromEnvironment: true}, fails: "none of KUBE_HOST"},
		"without consent":           {environment: direct, fails: "from_environment = true"},
		"a file without consent":    {environment: map[string]string{"KUBECONFIG": file}, fails: "from_environment = true"},
		"a context without consent": {connection: Connection{ConfigContext: "open"}, environment: map[string]string{"KUBECONFIG": file}, fails: "from_environment = true"},
		"a host of the entry, too":  {connection: Connection{Host: host, Token: secret.Hide("own"), FromEnvironment: true}, environment: direct, fails: "cannot be combined"},
		"host":                      {connection: Connection{FromEnvironment: true}, environment: direct, want: rest.Config{Host: "https://env:6443", BearerToken: "env-token", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca)}}},
		"host with the rest": {
			connection: Connection{FromEnvironment: true},
			environment: map[string]string{
				"KUBE_HOST": "env:6443", "KUBE_USER": "u", "KUBE_PASSWORD": "p", "KUBE_INSECURE": "true",
				"KUBE_TLS_SERVER_NAME": "env.example.com", "KUBE_PROXY_URL": "http://proxy:1",
			},
			want:  rest.Config{Host: "https://env:6443", Username: "u", Password: "p", TLSClientConfig: rest.TLSClientConfig{Insecure: true, ServerName: "env.example.com"}},
			proxy: "http://proxy:1",
		},
		"client certificate": {
			connection:  Connection{FromEnvironment: true},
			environment: map[string]string{"KUBE_HOST": "https://env:6443", "KUBE_CLIENT_CERT_DATA": cert, "KUBE_CLIENT_KEY_DATA": pkey},
			want:        rest.Config{Host: "https://env:6443", TLSClientConfig: rest.TLSClientConfig{CertData: []byte(cert), KeyData: []byte(pkey)}},
		},
		"host without credentials":      {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBE_HOST": "https://env:6443"}, fails: "KUBE_HOST"},
		"neither true nor false":        {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBE_HOST": "https://env:6443", "KUBE_TOKEN": "t", "KUBE_INSECURE": "perhaps"}, fails: "KUBE_INSECURE"},
		"kubeconfig":                    {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBECONFIG": file}, want: fromFile},
		"path":                          {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBE_CONFIG_PATH": "~/.kube/config", "HOME": dir}, want: fromFile},
		"path without a home":           {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBE_CONFIG_PATH": "~/.kube/config", "HOME": ""}, fails: "~/.kube/config"},
		"paths and context":             {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBE_CONFIG_PATHS": file, "KUBE_CTX": "open"}, want: open, proxy: "http://proxy:3128"},
		"context by its parts":          {connection: Connection{FromEnvironment: true}, environment: map[string]string{"KUBECONFIG": file, "KUBE_CTX_CLUSTER": "dev", "KUBE_CTX_AUTH_INFO": "dev"}, want: fromFile},
		"the entry's context":           {connection: Connection{FromEnvironment: true, ConfigContext: "open"}, environment: map[string]string{"KUBECONFIG": file, "KUBE_CTX": "dev"}, want: open, proxy: "http://proxy:3128"},
		"the entry's context, no host":  {connection: Connection{FromEnvironment: true, ConfigContext: "dev"}, environment: map[string]string{"KUBE_HOST": "https://env:6443", "KUBE_TOKEN": "t", "KUBECONFIG": file}, want: fromFile},
		"the entry's certificate":       {connection: Connection{FromEnvironment: true, ClusterCACertificate: cert}, environment: direct, want: rest.Config{Host: "https://env:6443", BearerToken: "env-token", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(cert)}}},
		"an entry with a host":          {connection: Connection{Host: host, Token: secret.Hide("own")}, environment: direct, want: rest.Config{Host: host, BearerToken: "own"}},
		"an entry with a kubeconfig":    {connection: Connection{Kubeconfig: secret.Hide(kubeconfig), ConfigContext: "dev"}, environment: direct, want: fromFile},
		"an entry with a file":          {connection: Connection{ConfigPaths: []string{file}, ConfigContext: "dev"}, environment: map[string]string{"KUBE_CTX": "open", "KUBE_PROXY_URL": "http://proxy:1"}, want: fromFile},
		"an entry with a host, no auth": {connection: Connection{Host: host}, environment: direct, fails: "needs a way to authenticate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{
				"KUBE_HOST", "KUBE_TOKEN", "KUBE_USER", "KUBE_PASSWORD", "KUBE_CLUSTER_CA_CERT_DATA", "KUBE_CLIENT_CERT_DATA", "KUBE_CLIENT_KEY_DATA",
				"KUBE_INSECURE", "KUBE_TLS_SERVER_NAME", "KUBE_PROXY_URL", "KUBE_CTX", "KUBE_CTX_CLUSTER", "KUBE_CTX_AUTH_INFO",
				"KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS", "KUBECONFIG",
			} {
				t.Setenv(variable, test.environment[variable])
			}
			if home, ok := test.environment["HOME"]; ok {
				t.Setenv("HOME", home)
			}
			_, err := new(Kubeconfigs).Config(test.connection, nil)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error = %v, want %q in it", err, test.fails)
				}
				return
			}
			got, err := test.connection.restConfig(new(Kubeconfigs), &mask.Masker{})
			if err != nil {
				t.Fatal(err)
			}
			expectConfig(t, &test.want, got, test.proxy, false)
		})
	}
}
