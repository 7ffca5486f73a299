package connect_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// echoHeader refuses every request and repeats its credentials, as some proxies do.
func echoHeader(w http.ResponseWriter, request *http.Request) {
	said := request.Header.Get("Authorization")
	answer(w, http.StatusForbidden, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "you say " + said,
	})
}

// A server repeats the credentials that it was sent. The masker has them by then, from any source.
func TestAttackEchoedCredentials(t *testing.T) {
	t.Parallel()
	const word = "correct-horse-battery"
	server := serve(t, echoHeader)
	inKubeconfig := `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "` + server.URL + `", "insecure-skip-tls-verify": true}}],
		"users": [{"name": "c", "user": {"token": "` + word + `"}}]}`
	tests := map[string]func(t *testing.T, c *connect.Connection){
		"token": func(_ *testing.T, c *connect.Connection) { c.Token = secret.Hide(word) },
		"token file": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.TokenFile = write(t, "token", word+"\n", 0o600)
		},
		"password": func(_ *testing.T, c *connect.Connection) { c.Username, c.Password = "admin", secret.Hide(word) },
		"command": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			c.Exec = &connect.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: credentials(t), Args: []string{"correct"}, Env: map[string]string{"SECOND": "horse-battery"}}
		},
		"kubeconfig": func(_ *testing.T, c *connect.Connection) {
			*c = connect.Connection{Kubeconfig: secret.Hide(inKubeconfig)}
		},
		"kubeconfig file": func(t *testing.T, c *connect.Connection) {
			t.Helper()
			*c = connect.Connection{ConfigPaths: []string{write(t, "config", inKubeconfig, 0o600)}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := to(server)
			connection.Token = secret.Hide("")
			change(t, &connection)
			masker := &mask.Masker{}
			client, err := kube.New(connection, masker)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.UID(t.Context())
			if err == nil || !strings.Contains(err.Error(), "you say") {
				t.Fatalf("the server was not asked: %v", err)
			}
			got := masker.Error(err).Error()
			for _, text := range []string{word, base64.StdEncoding.EncodeToString([]byte("admin:" + word))} {
				if strings.Contains(got, text) {
					t.Errorf("it can be read: %s", got)
				}
			}
			if !strings.Contains(got, "you say Be") && !strings.Contains(got, "you say Ba") {
				t.Errorf("more than the credentials are hidden: %s", got)
			}
		})
	}
}

// The user needs the last line that a command prints. Secrets in it are masked.
func TestCommandSays(t *testing.T) {
	t.Parallel()
	server := serve(t, respondWithUID)
	tests := map[string]struct {
		script string
		args   []string
		want   string
	}{
		"last line":          {script: "echo first >&2; echo 'your session has expired, log in again' >&2; exit 1", want: "exit status 1; it reported: your session has expired, log in again"},
		"nothing":            {script: "exit 1", want: "exit status 1"},
		"variable":           {script: `echo "$SECRET is wrong" >&2; exit 1`, want: "it reported: (sensitive value) is wrong"},
		"argument":           {script: `echo "$2 is wrong" >&2; exit 1`, args: []string{"--client-secret", "argument-horse"}, want: "it reported: (sensitive value) is wrong"},
		"token":              {script: `echo '{"status": {"token": "token-horse"}}'; echo "got token-horse" >&2; exit 1`, want: "it reported: got (sensitive value)"},
		"escape sequence":    {script: `printf 'red \033[31m\n' >&2; exit 1`, want: `it reported: red \x1b[31m`},
		"a long line":        {script: `head -c 600 /dev/zero | tr '\0' x >&2; exit 1`, want: strings.Repeat("x", 500) + "…"},
		"without an end":     {script: `echo head >&2; head -c 100000 /dev/zero | tr '\0' x >&2; exit 1`, want: "exit status 1"},
		"no credentials":     {script: `echo "are you logged in?" >&2; echo nonsense`, want: "it reported: are you logged in?"},
		"a line at the end":  {script: `head -c 100000 /dev/zero | tr '\0' x >&2; echo >&2; echo over >&2; exit 1`, want: "it reported: over"},
		"only line breaks":   {script: `echo >&2; echo >&2; exit 2`, want: "exit status 2"},
		"base64 of a secret": {script: `printf '%s' "$SECRET" | base64 >&2; exit 1`, want: "it reported: (sensitive value)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := to(server)
			connection.Token, connection.Exec = secret.Hide(""), &connect.Exec{
				APIVersion: "client.authentication.k8s.io/v1", Command: write(t, "command", "#!/bin/sh\n"+test.script+"\n", 0o700),
				Args: test.args, Env: map[string]string{"SECRET": "variable-horse"},
			}
			_, err := clientOf(t, connection).UID(t.Context())
			failed, ok := errors.AsType[*command.CredentialsError](err)
			if !ok || !strings.HasSuffix(failed.Error(), test.want) || strings.Contains(failed.Error(), "horse") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// A kubeconfig that cannot be read is not quoted.
func TestAttackUnreadableKubeconfig(t *testing.T) {
	t.Parallel()
	const word = "correct-horse-battery"
	content := "users: " + word + "\nclusters: [" + word
	for name, connection := range map[string]connect.Connection{
		"inline": {Kubeconfig: secret.Hide(content)}, "file": {ConfigPaths: []string{write(t, "config", content, 0o600)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := kube.New(connection, nil)
			if err == nil || strings.Contains(err.Error(), word) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server's warnings are not written anywhere. client-go would write them to the log.
func TestAttackEchoedWarning(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, request *http.Request) {
		said, _ := json.Marshal(request.Header.Get("Authorization"))
		w.Header().Set("Warning", "299 - "+string(said))
		respondWithUID(w, request)
	})
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = written // What client-go writes to.
	expectUID(t, to(server))
	os.Stderr = stderr
	if err := written.Close(); err != nil {
		t.Fatal(err)
	}
	var said [4096]byte
	if n, _ := read.Read(said[:]); n > 0 {
		t.Errorf("it was written: %s", said[:n])
	}
}
