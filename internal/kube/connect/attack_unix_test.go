//go:build unix

package connect_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const (
	plugin = "client.authentication.k8s.io/v1"
	// hanging is after which time a test takes something for hanging. It is far longer than any limit.
	hanging = 2 * time.Minute
)

// A command that prints credentials may hang, print without end, or leave processes behind that
// keep its output open. It delays only its own clusters, and no process is left running.
func TestAttackExec(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script  string
		wants   string
		passes  bool
		timeout time.Duration // Two minutes if 0.
	}{
		"hangs":               {script: "exec sleep 1000", wants: "did not end within 1s", timeout: time.Second},
		"hangs in a child":    {script: "sleep 1000; true", wants: "did not end within 1s", timeout: time.Second},
		"ignores signals":     {script: "trap '' TERM INT HUP; while :; do sleep 1000; done", wants: "did not end within 1s", timeout: time.Second},
		"waits for input":     {script: "read line; exit 3", wants: "exit status 3"},
		"prints slowly":       {script: "while :; do echo a; sleep 0.1; done", wants: "did not end within 1s", timeout: time.Second},
		"prints much":         {script: "exec yes", wants: "printed more than 1 MiB"},
		"prints no JSON":      {script: "echo secret-output", wants: "not an ExecCredential"},
		"fails":               {script: "exit 7", wants: "exit status 7"},
		"leaves output open":  {script: `sleep 1000 & echo $! >"$PIDS"; echo '{"apiVersion": "` + plugin + `", "kind": "ExecCredential", "status": {"token": "x"}}'`, passes: true},
		"half a certificate":  {script: `echo '{"apiVersion": "` + plugin + `", "kind": "ExecCredential", "status": {"clientKeyData": "x"}}'`, wants: "certificate and a key"},
		"prints another kind": {script: `echo '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "x"}}'`, wants: "v1beta1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			script := write(t, "plugin", "#!/bin/sh\necho $$ >\"$PIDS\"\n"+test.script+"\n", 0o700)
			connection := to(serve(t, respondWithUID))
			connection.Token, connection.Exec = secret.Hide(""), &connect.Exec{
				APIVersion: plugin, Command: script, Args: []string{"secret-argument"}, Env: map[string]string{"PIDS": pids},
				Timeout: cmp.Or(test.timeout, hanging),
			}
			begun := time.Now()
			_, err := clientOf(t, connection).UID(t.Context())
			if time.Since(begun) > hanging {
				t.Errorf("it took %s", time.Since(begun))
			}
			if test.passes {
				if err != nil {
					t.Error(err)
				}
				stop(t, pids)
				return
			}
			failed, ok := errors.AsType[*command.CredentialsError](err)
			if !ok || failed.Command != script || !strings.Contains(err.Error(), test.wants) {
				t.Errorf("got %v, want %q", err, test.wants)
			}
			if class(connect.Classify("c1", err)) != neither || strings.Contains(fmt.Sprint(err), "secret-") {
				t.Errorf("%v is %s", err, class(connect.Classify("c1", err)))
			}
			expectNoGroup(t, pids)
		})
	}
}

func firstOf(t *testing.T, pids string) int {
	t.Helper()
	content, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func stop(t *testing.T, pids string) {
	t.Helper()
	if err := syscall.Kill(firstOf(t, pids), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// expectNoGroup waits until no process of a group is left.
func expectNoGroup(t *testing.T, pids string) {
	t.Helper()
	group := -firstOf(t, pids)
	for deadline := time.Now().Add(hanging); ; {
		if errors.Is(syscall.Kill(group, 0), syscall.ESRCH) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("processes of group %d are left", -group)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A command of many clusters runs once, and a request that waits for it keeps its whole time.
func TestExecIsSharedAndNotCounted(t *testing.T) {
	t.Parallel()
	runs := filepath.Join(t.TempDir(), "runs")
	script := write(t, "plugin", "#!/bin/sh\necho x >>\"$RUNS\"\nsleep 11\n"+
		`echo '{"apiVersion": "`+plugin+`", "kind": "ExecCredential", "status": {"token": "x"}}'`+"\n", 0o700)
	var waiting sync.WaitGroup
	for range 5 {
		connection := to(serve(t, respondWithUID))
		connection.RequestTimeout = 10 * time.Second
		connection.Token, connection.Exec = secret.Hide(""), &connect.Exec{APIVersion: plugin, Command: script, Env: map[string]string{"RUNS": runs}}
		client := clientOf(t, connection)
		for range 3 {
			waiting.Go(func() {
				if _, err := client.UID(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	waiting.Wait()
	if got, err := os.ReadFile(runs); err != nil || string(got) != "x\n" {
		t.Errorf("the command ran %q (%v)", got, err)
	}
}

// The credentials of a command are read again when a server refuses them, and its certificates are
// sent to the server.
func TestExecCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t, "from a command", time.Hour)
	answers := t.TempDir()
	say := func(token string) {
		t.Helper()
		content := fmt.Sprintf(`{"apiVersion": %q, "kind": "ExecCredential", "status": {"token": %q, "clientCertificateData": %q, "clientKeyData": %q}}`, plugin, token, certificate, key)
		if err := os.WriteFile(filepath.Join(answers, "now"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var valid atomic.Value
	valid.Store("Bearer first")
	server := serveWith(t, clientCertificates(), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != valid.Load() || len(r.TLS.PeerCertificates) == 0 {
			refuse(http.StatusUnauthorized, "Unauthorized")(w, r)
			return
		}
		respondWithUID(w, r)
	})
	connection := to(server)
	connection.Token, connection.Exec = secret.Hide(""), &connect.Exec{APIVersion: plugin, Command: "cat", Args: []string{filepath.Join(answers, "now")}}
	client := clientOf(t, connection)
	say("first")
	if _, err := client.UID(t.Context()); err != nil {
		t.Fatal(err)
	}
	valid.Store("Bearer second")
	certificate, key = pair(t, "a new one", time.Hour)
	say("second")
	if _, err := client.UID(t.Context()); !connect.IsDenied(err) {
		t.Fatalf("the first token is no longer valid, but error = %v", err)
	}
	if _, err := client.UID(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A path that a connection names may not be a regular file.
func TestAttackFiles(t *testing.T) {
	t.Parallel()
	large := write(t, "large", "", 0o600)
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	kubeconfig := func(t *testing.T, user, cluster string) string {
		t.Helper()
		return write(t, "kubeconfig", `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
			"contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
			"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"`+cluster+`}}],
			"users": [{"name": "c", "user": {`+user+`}}]}`, 0o600)
	}
	tests := map[string]struct {
		connect func(*testing.T, string) connect.Connection
		names   string
	}{
		"config_path": {names: "config_path", connect: func(_ *testing.T, path string) connect.Connection {
			return connect.Connection{ConfigPaths: []string{path}}
		}},
		"token_file": {names: "token_file", connect: func(_ *testing.T, path string) connect.Connection {
			return connect.Connection{Host: "https://127.0.0.1:1", TokenFile: path}
		}},
		"token of a kubeconfig": {names: "tokenFile", connect: func(t *testing.T, path string) connect.Connection {
			t.Helper()
			return connect.Connection{ConfigPaths: []string{kubeconfig(t, `"tokenFile": "`+path+`"`, "")}}
		}},
		"key of a kubeconfig": {names: "client-key", connect: func(t *testing.T, path string) connect.Connection {
			t.Helper()
			return connect.Connection{ConfigPaths: []string{kubeconfig(t, `"client-certificate-data": "eA==", "client-key": "`+path+`"`, "")}}
		}},
		"certificate of a kubeconfig": {names: "client-certificate", connect: func(t *testing.T, path string) connect.Connection {
			t.Helper()
			return connect.Connection{ConfigPaths: []string{kubeconfig(t, `"client-key-data": "eA==", "client-certificate": "`+path+`"`, "")}}
		}},
		"authority of a kubeconfig": {names: "certificate-authority", connect: func(t *testing.T, path string) connect.Connection {
			t.Helper()
			return connect.Connection{ConfigPaths: []string{kubeconfig(t, `"token": "x"`, `, "certificate-authority": "`+path+`"`)}}
		}},
	}
	for name, test := range tests {
		for kind, path := range map[string]string{"device": "/dev/zero", "large": large, "folder": t.TempDir(), "fifo": fifo(t)} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				begun := time.Now()
				client, err := kube.New(test.connect(t, path), nil)
				if err == nil {
					_, err = client.UID(t.Context())
				}
				if err == nil || !strings.Contains(err.Error(), "reading "+test.names) || !strings.Contains(err.Error(), " "+path+": ") {
					t.Errorf("got %v", err)
				}
				if time.Since(begun) > hanging {
					t.Errorf("it took %s", time.Since(begun))
				}
			})
		}
	}
}

// fifo makes a pipe that no process writes to.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A kubeconfig or a token can come from a pipe, as from a process substitution of a shell.
func TestFilesFromPipes(t *testing.T) {
	t.Parallel()
	server := serve(t, respondWithUID)
	feed := func(t *testing.T, content string) string {
		t.Helper()
		path := fifo(t)
		go func() {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Error(err)
			}
		}()
		return path
	}
	t.Run("kubeconfig", func(t *testing.T) {
		t.Parallel()
		path := feed(t, `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
			"contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
			"clusters": [{"name": "c", "cluster": {"server": "`+server.URL+`", "insecure-skip-tls-verify": true}}],
			"users": [{"name": "c", "user": {"token": "x"}}]}`)
		expectUID(t, connect.Connection{ConfigPaths: []string{path}})
	})
	t.Run("token", func(t *testing.T) {
		t.Parallel()
		connection := to(server)
		connection.Token, connection.TokenFile = secret.Hide(""), feed(t, "token")
		expectUID(t, connection)
	})
}
