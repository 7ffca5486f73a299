package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
)

var errEmptyRepository = errors.New("the repository is empty")

// session is one conversation with a server, which has said what refs it has.
// Over SSH it ends with the first pack.
type session struct {
	at     location
	prefix string
	wire   transport.UploadPackSession
	refs   *packp.AdvRefs
}

// connect starts a session. Errors are those of Resolve, or
// errEmptyRepository.
func (c *Client) connect(ctx context.Context, at location) (*session, error) {
	by := c.access.of(at)
	wire, err := c.access.dial(ctx, at, by)
	if err != nil {
		return nil, err
	}
	s := &session{at: at, prefix: by.prefix, wire: wire}
	if s.refs, err = wire.AdvertisedReferencesContext(ctx); err != nil {
		s.close()
		return nil, s.explain(ctx, err)
	}
	return s, nil
}

func (a access) dial(ctx context.Context, at location, by account) (transport.UploadPackSession, error) {
	if at.scheme == "ssh" {
		return a.dialSSH(ctx, at, by)
	}
	if by.err != nil {
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: by.err}
	}
	auth := by.credentials.basic(at.user)
	wire, err := by.http.NewUploadPackSession(at.endpoint(), auth)
	if err != nil {
		return nil, &UnreachableError{URL: at.String(), Err: err}
	}
	return wire, nil
}

// dialSSH does in another goroutine what go-git cannot be told to stop.
func (a access) dialSSH(ctx context.Context, at location, by account) (transport.UploadPackSession, error) {
	login, err := a.sshLogin(at, by)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		wire transport.UploadPackSession
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		wire, err := gitssh.DefaultClient.NewUploadPackSession(at.endpoint(), login)
		done <- outcome{wire, err}
	}()
	select {
	case <-ctx.Done():
		go func() {
			if late := <-done; late.err == nil {
				_ = late.wire.Close()
			}
		}()
		return nil, fmt.Errorf("connecting to %s: %w", at, context.Cause(ctx))
	case o := <-done:
		switch {
		case o.err == nil:
			return o.wire, nil
		case login.hostKeyErr != nil:
			return nil, &HostKeyError{URL: at.String(), Err: login.hostKeyErr}
		case login.verified:
			return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Err: o.err}
		}
		return nil, &UnreachableError{URL: at.String(), Err: o.err}
	}
}

func (s *session) close() { _ = s.wire.Close() }

// explain turns an error of go-git into one of this package.
func (s *session) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("reading from %s: %w", s.at, cause)
	}
	// These two do not unwrap.
	if wrapped, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		err = wrapped.Err
	}
	if wrapped, ok := errors.AsType[*plumbing.PermanentError](err); ok {
		err = wrapped.Err
	}
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errEmptyRepository
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		// Not wrapped: the text holds whatever page the server answered.
		return &AuthenticationError{URL: s.at.String(), Prefix: s.prefix}
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return &RepositoryNotFoundError{URL: s.at.String(), Prefix: s.prefix}
	}
	return &UnreachableError{URL: s.at.String(), Err: err}
}

// resolve finds the commit a ref is, among what the server has shown.
func (s *session) resolve(ref Ref) (commit string, ok bool) {
	name, ok := s.refName(ref)
	if !ok {
		return "", false
	}
	if name == headRef {
		return s.refs.Head.String(), true
	}
	// An annotated tag is an object of its own; Peeled has what it points to.
	if peeled, ok := s.refs.Peeled[name]; ok {
		return peeled.String(), true
	}
	return s.refs.References[name].String(), true
}

const headRef = "HEAD"

// refName is the full name, for example refs/heads/main, of the ref that is
// meant.
func (s *session) refName(ref Ref) (name string, ok bool) {
	if ref == (Ref{}) {
		return headRef, s.refs.Head != nil
	}
	candidates := []string{"refs/heads/" + ref.Branch}
	if ref.Revision != "" {
		candidates = []string{"refs/tags/" + ref.Revision, "refs/heads/" + ref.Revision}
		if strings.HasPrefix(ref.Revision, "refs/") {
			candidates = []string{ref.Revision}
		}
	}
	for _, name := range candidates {
		if _, ok := s.refs.References[name]; ok {
			return name, true
		}
	}
	return "", false
}

// request asks for what leads to wants, with so many generations of history;
// depth 0 is all of it.
type request struct {
	wants []plumbing.Hash
	depth int
}

// requests are the ways to get at commit, the cheapest first. A server gives
// out what its refs point to; many give out any commit; the history of a branch
// is what remains.
func (s *session) requests(commit plumbing.Hash, hint Ref) []request {
	var requests []request
	if tip, ok := s.advertised(commit); ok {
		requests = append(requests, request{wants: []plumbing.Hash{tip}, depth: 1})
	} else if s.givesAnyCommit() {
		requests = append(requests, request{wants: []plumbing.Hash{commit}, depth: 1})
	}
	tips := s.tips(hint)
	if len(tips) == 0 {
		return requests
	}
	if s.refs.Capabilities.Supports(capability.Shallow) {
		requests = append(requests, request{wants: tips, depth: deepened})
	}
	if s.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		return requests // What it refused is in nobody's history.
	}
	return append(requests, request{wants: tips})
}

// advertised is the object that leads to commit and that any server gives out:
// the commit itself when it is the tip of a branch, or an annotated tag of it.
func (s *session) advertised(commit plumbing.Hash) (plumbing.Hash, bool) {
	if s.refs.Head != nil && *s.refs.Head == commit {
		return commit, true
	}
	for name, hash := range s.refs.References {
		if hash == commit || s.refs.Peeled[name] == commit {
			return hash, true
		}
	}
	return plumbing.ZeroHash, false
}

// givesAnyCommit says whether commits may be asked for that no ref points to.
func (s *session) givesAnyCommit() bool {
	return s.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		s.refs.Capabilities.Supports(capability.AllowTipSHA1InWant)
}

// tips are the commits from which the whole history that ref may mean can be
// reached: that of its branch, or without such all branches and tags.
func (s *session) tips(ref Ref) []plumbing.Hash {
	if name, ok := s.refName(ref); ok && name != headRef {
		return []plumbing.Hash{s.refs.References[name]}
	}
	var tips []plumbing.Hash
	for name, hash := range s.refs.References {
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			tips = append(tips, hash)
		}
	}
	plumbing.HashesSort(tips)
	return slices.Compact(tips)
}

// fetch stores what the request asks for.
func (s *session) fetch(ctx context.Context, r request, to storer.Storer) error {
	ask := packp.NewUploadPackRequestFromCapabilities(s.refs.Capabilities)
	ask.Wants = r.wants
	var capabilities []capability.Capability
	if r.depth > 0 && s.refs.Capabilities.Supports(capability.Shallow) {
		ask.Depth = packp.DepthCommits(r.depth)
		capabilities = append(capabilities, capability.Shallow)
	}
	if s.refs.Capabilities.Supports(capability.NoProgress) {
		capabilities = append(capabilities, capability.NoProgress)
	}
	if s.at.needsMultiACK() {
		capabilities = append(capabilities, capability.MultiACK)
	}
	for _, name := range capabilities {
		if err := ask.Capabilities.Set(name); err != nil {
			return fmt.Errorf("asking %s with capability %s: %w", s.at, name, err)
		}
	}
	response, err := s.wire.UploadPack(ctx, ask)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer func() { _ = response.Close() }()
	if err := packfile.UpdateObjectStorage(to, demultiplex(response, ask.Capabilities)); err != nil {
		return s.explain(ctx, err)
	}
	return nil
}

// demultiplex takes the pack out of an answer that carries messages beside it.
func demultiplex(answer io.Reader, asked *capability.List) io.Reader {
	switch {
	case asked.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case asked.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}

// needsMultiACK: Azure DevOps refuses clients that do not ask for it. go-git
// hides it from every server because it cannot speak it, but to somebody who
// has nothing yet the answer is the same (go-git issue 64).
func (l location) needsMultiACK() bool {
	return l.host == "dev.azure.com" || l.host == "ssh.dev.azure.com" || strings.HasSuffix(l.host, ".visualstudio.com")
}
