package gittest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// keys are the key of the server and that of its one user.
type keys struct {
	host      ssh.Signer
	user      ssh.Signer
	userInPEM string
}

func newKeys() (keys, error) {
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return keys{}, fmt.Errorf("making a host key: %w", err)
	}
	host, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		return keys{}, fmt.Errorf("making a host key: %w", err)
	}
	_, userKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return keys{}, fmt.Errorf("making a user key: %w", err)
	}
	user, err := ssh.NewSignerFromKey(userKey)
	if err != nil {
		return keys{}, fmt.Errorf("making a user key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(userKey, "gittest")
	if err != nil {
		return keys{}, fmt.Errorf("making a user key: %w", err)
	}
	return keys{host: host, user: user, userInPEM: string(pem.EncodeToMemory(block))}, nil
}

// SSHKey is the private key, in PEM, that the SSH server accepts.
func (s *Server) SSHKey() string { return s.ssh.keys.userInPEM }

// KnownHosts is the line of a known_hosts file that names the SSH server.
func (s *Server) KnownHosts() string {
	address := knownhosts.Normalize(s.ssh.listener.Addr().String())
	return knownhosts.Line([]string{address}, s.ssh.keys.host.PublicKey()) + "\n"
}

// sshServer serves repositories over SSH to one user.
type sshServer struct {
	options      Options
	repositories *repositories
	keys         keys
	listener     net.Listener
	// served and requests are those of the whole server.
	served   *sync.WaitGroup
	requests *atomic.Int64
	refusal  atomic.Value // A string.
}

func (s *sshServer) serve() {
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), s.keys.user.PublicKey().Marshal()) {
			return nil, errors.New("unknown key")
		}
		return &ssh.Permissions{}, nil
	}}
	if s.options.Password != "" {
		config.PasswordCallback = func(conn ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if !equal(conn.User(), s.options.Username) || !equal(string(password), s.options.Password) {
				return nil, errors.New("wrong password")
			}
			return &ssh.Permissions{}, nil
		}
	}
	config.AddHostKey(s.keys.host)
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // The server runs until Close.
	// Accept fails once the server is closed; that ends every connection.
	defer stop()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.served.Go(func() { s.serveConnection(ctx, conn, config) })
	}
}

func (s *sshServer) serveConnection(ctx context.Context, conn net.Conn, config *ssh.ServerConfig) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for candidate := range channels {
		if candidate.ChannelType() != "session" {
			_ = candidate.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := candidate.Accept()
		if err != nil {
			return
		}
		s.served.Go(func() { s.serveSession(ctx, channel, requests) })
	}
}

// serveSession runs the one command that a git client requests.
func (s *sshServer) serveSession(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = channel.Close() }()
	for request := range requests {
		if request.Type != "exec" {
			_ = request.Reply(false, nil)
			continue
		}
		var payload struct{ Command string }
		if err := ssh.Unmarshal(request.Payload, &payload); err != nil {
			_ = request.Reply(false, nil)
			return
		}
		_ = request.Reply(true, nil)
		s.requests.Add(1)
		status := struct{ Code uint32 }{s.uploadPack(ctx, channel, payload.Command)}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(&status))
		return
	}
}

// uploadPack runs for example "git-upload-pack '/acme/fleet'" and returns its exit code.
func (s *sshServer) uploadPack(ctx context.Context, channel ssh.Channel, command string) uint32 {
	program, argument, _ := strings.Cut(command, " ")
	if program != "git-upload-pack" {
		_, _ = fmt.Fprintf(channel.Stderr(), "%s is not served\n", program)
		return 127
	}
	if s.options.Refusal != "" {
		_, _ = fmt.Fprintln(channel.Stderr(), s.options.Refusal)
		return 128
	}
	if refusal, refuses := s.refusal.Load().(string); refuses {
		_, _ = fmt.Fprintln(channel.Stderr(), refusal)
		return 128
	}
	dir, err := s.repositories.folder(path.Clean(strings.Trim(argument, "'")))
	if err != nil {
		_, _ = fmt.Fprintln(channel.Stderr(), err)
		return 128
	}
	cmd := exec.CommandContext(ctx, s.repositories.git, "upload-pack", "--strict", dir)
	cmd.Dir, cmd.Env = s.repositories.dir, s.repositories.environment()
	cmd.Stdout, cmd.Stderr = s.options.breaking(ctx, channel), channel.Stderr()
	// Not cmd.Stdin: Run would wait until the client closes its side. The client does that only
	// after it has read the end of the output.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 128
	}
	if err := cmd.Start(); err != nil {
		return 128
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	}()
	if err := cmd.Wait(); err != nil {
		return 128
	}
	return 0
}
