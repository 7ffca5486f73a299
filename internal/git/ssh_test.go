package git_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// lock encrypts a private key with a passphrase.
func lock(t *testing.T, key, passphrase string) string {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "locked", []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// rsaKey returns a public key in the format of known_hosts.
func rsaKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(public))
}

func TestSSH(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "git", Password: "open sesame"})
	locked := lock(t, s.SSHKey(), "open sesame")
	root := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	head := commit(t, s, "acme/fleet", "main", map[string]string{"a": "2"})
	stranger := gittest.New(t, gittest.Options{})
	repo := s.SSHURL("acme/fleet")
	address, err := url.Parse(repo)
	if err != nil {
		t.Fatal(err)
	}
	scp := fmt.Sprintf("git@%s:%s:acme/fleet", address.Hostname(), address.Port())
	// A line for this server's address with another server's key.
	_, otherKey, _ := strings.Cut(stranger.KnownHosts(), " ")
	ownHost, _, _ := strings.Cut(s.KnownHosts(), " ")
	right := git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}

	tests := []struct {
		name        string
		repo        string
		credentials git.Credentials
		is          func(error) bool // nil: it works.
	}{
		{"key", repo, right, nil},
		{"short form of the URL", scp, right, nil},
		{"wrong key", repo, git.Credentials{SSHPrivateKey: secret.Hide(stranger.SSHKey()), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"no key in the PEM", repo, git.Credentials{SSHPrivateKey: secret.Hide("hello"), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"unknown host", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: stranger.KnownHosts()}, isType[*git.UnknownHostError]},
		{"host key of another kind", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: ownHost + " " + rsaKey(t)}, isType[*git.HostKeyError]},
		{"malformed known_hosts", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: ownHost + " ssh-ed25519 hello"}, isType[*git.UnknownHostError]},
		{"revoked host key", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts() + "@revoked " + s.KnownHosts()}, isType[*git.HostKeyError]},
		{"malformed revocation", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts() + "@revoked " + ownHost + " ssh-ed25519 hello"}, isType[*git.UnknownHostError]},
		{"unknown marker", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts() + "@revoke " + s.KnownHosts()}, isType[*git.UnknownHostError]},
		{"malformed line for another host", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: "git.invalid ssh-ed25519 hello\n" + s.KnownHosts()}, nil},
		{"locked key", repo, git.Credentials{SSHPrivateKey: secret.Hide(locked), SSHPassphrase: secret.Hide("open sesame"), KnownHosts: s.KnownHosts()}, nil},
		{"locked key, wrong passphrase", repo, git.Credentials{SSHPrivateKey: secret.Hide(locked), SSHPassphrase: secret.Hide("guess"), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"locked key, no passphrase", repo, git.Credentials{SSHPrivateKey: secret.Hide(locked), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"password", repo, git.Credentials{Username: "git", Password: secret.Hide("open sesame"), KnownHosts: s.KnownHosts()}, nil},
		{"wrong password", repo, git.Credentials{Username: "git", Password: secret.Hide("guess"), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"changed host key", repo, git.Credentials{SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: ownHost + " " + otherKey}, isType[*git.HostKeyError]},
		{"missing repository", s.SSHURL("nowhere"), right, func(err error) bool {
			found, ok := errors.AsType[*git.RepositoryNotFoundError](err)
			return ok && strings.Contains(found.Message, "nowhere")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prefix := strings.TrimSuffix(s.SSHURL(""), "/")
			client := newClient(t, map[string]git.Credentials{prefix: tt.credentials})
			got, err := client.Resolve(t.Context(), tt.repo, git.Ref{Branch: "main"})
			if tt.is != nil {
				if !tt.is(err) {
					t.Fatalf("Resolve: %T %v", err, err)
				}
				for _, secret := range []string{"guess", "open sesame"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error shows a secret: %v", err)
					}
				}
				return
			}
			if err != nil || got != head {
				t.Fatalf("Resolve = %q, %v, want %q", got, err, head)
			}
			tree, err := client.Fetch(t.Context(), tt.repo, root, git.Ref{Branch: "main"})
			if err != nil {
				t.Fatal(err)
			}
			if content, err := fs.ReadFile(tree, "a"); err != nil || string(content) != "1" {
				t.Errorf("a = %q, %v, want 1", content, err)
			}
		})
	}
}

func TestSSHStopsWithItsContext(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	s := gittest.New(t, gittest.Options{})
	repo := "ssh://git@" + silent.Addr().String() + "/repo"
	client := newClient(t, map[string]git.Credentials{repo: {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := silent.Accept(); err == nil {
			cancel()
			<-t.Context().Done()
			_ = conn.Close()
		}
	}()
	if _, err := client.Resolve(ctx, repo, git.Ref{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Resolve: %v, want context.Canceled", err)
	}
}

func TestSSHWithoutKnownHosts(t *testing.T) {
	s := gittest.New(t, gittest.Options{})
	t.Setenv("SSH_KNOWN_HOSTS", t.TempDir()+"/none")
	client := newClient(t, map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey())}})
	_, err := client.Resolve(t.Context(), s.SSHURL("repo"), git.Ref{})
	if !isType[*git.UnknownHostError](err) || !strings.Contains(err.Error(), "known_hosts") {
		t.Errorf("Resolve: %v, want an UnknownHostError", err)
	}
}
