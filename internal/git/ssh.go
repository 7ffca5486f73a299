package git

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
)

const sshDialTimeout = 30 * time.Second

// sshLogin is go-git's AuthMethod for one session. It also keeps how far the
// handshake came, because go-git's error does not say.
type sshLogin struct {
	user       string
	method     ssh.AuthMethod
	verify     ssh.HostKeyCallback
	algorithms []string

	// verified says that the server showed the right key, hostKeyErr why not.
	verified   bool
	hostKeyErr error
}

// Name is the name of the method, for go-git.
func (l *sshLogin) Name() string { return "ssh" }

// String describes the login without its secrets.
func (l *sshLogin) String() string { return "ssh as " + l.user }

// ClientConfig is the login as the SSH client wants it.
func (l *sshLogin) ClientConfig() (*ssh.ClientConfig, error) {
	return &ssh.ClientConfig{
		User:              l.user,
		Auth:              []ssh.AuthMethod{l.method},
		HostKeyAlgorithms: l.algorithms,
		HostKeyCallback: func(host string, remote net.Addr, key ssh.PublicKey) error {
			l.hostKeyErr = l.verify(host, remote, key)
			l.verified = l.hostKeyErr == nil
			return l.hostKeyErr
		},
		Timeout: sshDialTimeout,
	}, nil
}

// sshLogin makes the login for a repository. Errors: *AuthenticationError,
// *HostKeyError.
func (a access) sshLogin(at location, by account) (*sshLogin, error) {
	login := &sshLogin{user: cmp.Or(at.user, by.credentials.Username, gitssh.DefaultUsername)}
	var err error
	if login.method, err = by.credentials.sshMethod(login.user); err != nil {
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: err}
	}
	if err := login.trust(at, by.credentials.KnownHosts, a.cacheDir); err != nil {
		return nil, &HostKeyError{URL: at.String(), Err: err}
	}
	return login, nil
}

func (c Credentials) sshMethod(user string) (ssh.AuthMethod, error) {
	switch {
	case c.SSHPrivateKey != "":
		keys, err := gitssh.NewPublicKeys(user, []byte(c.SSHPrivateKey), c.SSHPassphrase)
		if err != nil {
			return nil, fmt.Errorf("reading the SSH private key: %w", err)
		}
		return ssh.PublicKeys(keys.Signer), nil
	case c.Password != "":
		return ssh.Password(c.Password), nil
	}
	agent, err := gitssh.NewSSHAgentAuth(user)
	if err != nil {
		return nil, errors.New("no SSH private key is given, and there is no SSH agent")
	}
	return ssh.PublicKeysCallback(agent.Callback), nil
}

// trust makes the login accept the keys that knownHosts has for the server, or
// without it those of the machine's own files.
func (l *sshLogin) trust(at location, knownHosts, cacheDir string) error {
	var files []string
	if knownHosts != "" {
		file, err := writeTemporary(cacheDir, knownHosts)
		if err != nil {
			return fmt.Errorf("keeping known_hosts: %w", err)
		}
		defer func() { _ = os.Remove(file) }()
		files = append(files, file)
	}
	db, err := gitssh.NewKnownHostsDb(files...)
	if err != nil && knownHosts == "" {
		return errors.New("no known_hosts are given, and this machine has neither ~/.ssh/known_hosts nor /etc/ssh/ssh_known_hosts")
	}
	if err != nil {
		return fmt.Errorf("reading known_hosts: %w", err)
	}
	l.verify = db.HostKeyCallback()
	l.algorithms = db.HostKeyAlgorithms(net.JoinHostPort(strings.Trim(at.host, "[]"), strconv.Itoa(at.port)))
	return nil
}

// writeTemporary is needed because known_hosts can be read from files only.
func writeTemporary(dir, content string) (name string, err error) {
	file, err := os.CreateTemp(dir, "fleet-known-hosts-*")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(content)
	return file.Name(), errors.Join(err, file.Close())
}
