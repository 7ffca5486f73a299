package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// sshWire runs git-upload-pack on a server. It ends with the first pack. go-git's own client
// cannot be stopped, and keeps only the text of an error's cause.
type sshWire struct {
	at      location
	by      account
	client  *ssh.Client
	session *ssh.Session
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  *stderrExcerpt
}

func (a access) dialSSH(ctx context.Context, at location, admitted fetch.Admission) (*sshWire, error) {
	by := a.accountFor(at, admitted.Entitled)
	login, err := a.sshLogin(at, by)
	if err != nil {
		return nil, err
	}
	conn, err := a.dialHost(ctx, at.hostPort(), admitted.Trusted)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	transport, channels, requests, err := ssh.NewClientConn(conn, at.hostPort(), login.config())
	if err != nil {
		_ = conn.Close()
		return nil, login.explain(ctx, at, by, err)
	}
	w := &sshWire{at: at, by: by, client: ssh.NewClient(transport, channels, requests), stderr: &stderrExcerpt{}}
	if err := w.start(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *sshWire) start() error {
	var err error
	if w.session, err = w.client.NewSession(); err != nil {
		return err
	}
	w.session.Stderr = w.stderr
	if w.stdin, err = w.session.StdinPipe(); err != nil {
		return err
	}
	if w.stdout, err = w.session.StdoutPipe(); err != nil {
		return err
	}
	return w.session.Start(uploadPack + " " + shellQuote(w.at.path))
}

// shellQuote quotes as git does: the server may run the command in any shell.
func shellQuote(path string) string {
	return "'" + strings.NewReplacer(`'`, `'\''`, `!`, `'\!'`).Replace(path) + "'"
}

func (w *sshWire) advertise(ctx context.Context, life *fetch.IdleTimeout) (*packp.AdvRefs, error) {
	defer context.AfterFunc(ctx, w.close)()
	refs := packp.NewAdvRefs()
	err := refs.Decode(life.Reader(w.stdout))
	if err == nil || !errors.Is(err, packp.ErrEmptyInput) {
		return refs, err
	}
	// The login succeeded and the command failed, so the repository is the cause. Wait returns
	// when all of stderr was received.
	_ = w.session.Wait()
	return nil, &RepositoryNotFoundError{URL: w.at.String(), Prefix: w.by.prefix, Withheld: w.by.withheld, Message: w.stderr.first()}
}

func (w *sshWire) ask(ctx context.Context, content []byte) (io.ReadCloser, error) {
	release := context.AfterFunc(ctx, w.close)
	_, err := w.stdin.Write(content)
	if err := errors.Join(err, w.stdin.Close()); err != nil {
		release()
		return nil, err
	}
	return &sshResponse{Reader: w.stdout, release: release}, nil
}

// sshResponse is a response that releases the context when it is closed.
type sshResponse struct {
	io.Reader

	release func() bool
}

func (r *sshResponse) Close() error {
	r.release()
	return nil
}

func (w *sshWire) close() { _ = w.client.Close() }

var errSSHNeedsLogin = errors.New("ssh is not possible without credentials")

// sshLogin is one attempt to log in. It records the steps of the handshake, because the error of
// the handshake does not name the failed step.
type sshLogin struct {
	user       string
	method     ssh.AuthMethod
	verify     ssh.HostKeyCallback
	algorithms []string

	shown   ssh.PublicKey // The key that the server sent.
	hostErr error         // Why the key is not accepted.
}

func (l *sshLogin) config() *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User:              l.user,
		Auth:              []ssh.AuthMethod{l.method},
		HostKeyAlgorithms: l.algorithms,
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			l.shown, l.hostErr = key, l.verify(host, remote, key)
			return l.hostErr
		},
	}
}

// explain finds the reason for a failed handshake.
func (l *sshLogin) explain(ctx context.Context, at location, by account, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if l.hostErr != nil {
		return explainHostKey(at, ssh.FingerprintSHA256(l.shown), l.hostErr)
	}
	negotiation, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err)
	if ok && l.shown == nil && len(l.algorithms) > 0 && fmt.Sprint(negotiation.SupportedAlgorithms) == fmt.Sprint(l.algorithms) {
		return &HostKeyError{URL: at.String(), Err: fmt.Errorf("known_hosts contains keys of the types %s, and the server offers only %s",
			strings.Join(negotiation.SupportedAlgorithms, ", "), strings.Join(negotiation.RequestedAlgorithms, ", "))}
	}
	_, broken := errors.AsType[net.Error](err)
	if l.shown == nil || broken || errors.Is(err, io.EOF) {
		return err
	}
	return &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: err}
}

// sshLogin makes the login for a repository. Errors: *AuthenticationError,
// *UnknownHostError.
func (a access) sshLogin(at location, by account) (*sshLogin, error) {
	if by.withheld { // Without credentials, the keys of the SSH agent would be used.
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Withheld: true, Err: errSSHNeedsLogin}
	}
	if by.credentials.Unknown {
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: by.err}
	}
	login := &sshLogin{user: cmp.Or(at.user, by.credentials.Username, gitssh.DefaultUsername)}
	var err error
	if login.method, err = by.credentials.sshMethod(login.user); err != nil {
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: err}
	}
	if err := login.trust(at, by.credentials.KnownHosts, a.cacheDir); err != nil {
		return nil, &UnknownHostError{URL: at.String(), Err: err}
	}
	return login, nil
}

func (c Credentials) sshMethod(user string) (ssh.AuthMethod, error) {
	switch {
	case !c.SSHPrivateKey.IsZero():
		keys, err := gitssh.NewPublicKeys(user, []byte(c.SSHPrivateKey.Reveal()), c.SSHPassphrase.Reveal())
		if err != nil {
			return nil, fmt.Errorf("reading the SSH private key: %w", err)
		}
		return ssh.PublicKeys(keys.Signer), nil
	case !c.Password.IsZero():
		return ssh.Password(c.Password.Reveal()), nil
	}
	agent, err := gitssh.NewSSHAgentAuth(user)
	if err != nil {
		return nil, errors.New("no SSH private key is configured, and no SSH agent was found")
	}
	return ssh.PublicKeysCallback(agent.Callback), nil
}

// trust makes the login accept the keys that knownHosts has for the server. Without knownHosts,
// the keys in the machine's own files are accepted.
func (l *sshLogin) trust(at location, knownHosts, cacheDir string) error {
	if err := checkMarked(knownHosts, cacheDir); err != nil {
		return err
	}
	var files []string
	if knownHosts != "" {
		file, err := writeTemporary(cacheDir, knownHosts)
		if err != nil {
			return fmt.Errorf("storing known_hosts: %w", err)
		}
		defer func() { _ = os.Remove(file) }()
		files = append(files, file)
	}
	db, err := gitssh.NewKnownHostsDb(files...)
	if err != nil && knownHosts == "" {
		return errors.New("known_hosts is not configured, and this machine has neither ~/.ssh/known_hosts nor /etc/ssh/ssh_known_hosts")
	}
	if err != nil {
		return fmt.Errorf("reading known_hosts: %w", err)
	}
	l.verify = db.HostKeyCallback()
	l.algorithms = db.HostKeyAlgorithms(at.hostPort())
	return nil
}

// checkMarked returns an error for a line with a marker that cannot be read, such as "@revoked host
// ssh-ed25519 x". Lines that cannot be read are skipped, and the key that this one revokes would be
// accepted.
func checkMarked(knownHosts, cacheDir string) error {
	number := 0
	for line := range strings.Lines(knownHosts) {
		number++
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "@") {
			continue
		}
		file, err := writeTemporary(cacheDir, line)
		if err != nil {
			return fmt.Errorf("storing line %d of known_hosts: %w", number, err)
		}
		_, err = knownhosts.New(file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			return fmt.Errorf("reading line %d of known_hosts: %w", number, err)
		}
	}
	return nil
}

// writeTemporary is needed because known_hosts can be read from files only.
func writeTemporary(dir, content string) (name string, err error) {
	file, err := os.CreateTemp(dir, "fleet-known-hosts-*")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
