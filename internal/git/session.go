package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

var errEmptyRepository = errors.New("the repository is empty")

// wire carries one conversation with git-upload-pack (gitprotocol-pack(5),
// version 0).
type wire interface {
	// advertise returns the first message of the server: its refs and capabilities.
	advertise(ctx context.Context, life *fetch.IdleTimeout) (*packp.AdvRefs, error)
	// ask sends one request and returns the response.
	ask(ctx context.Context, content []byte) (io.ReadCloser, error)
	close()
}

// session is one conversation with a server, which has sent its refs. Over SSH, a session ends
// with the first pack.
type session struct {
	at     location
	by     account
	wire   wire
	limits limits
	refs   *packp.AdvRefs
}

// connect starts a session. Errors are those of Resolve, or
// errEmptyRepository.
func (c *Client) connect(ctx context.Context, at location, admitted fetch.Admission) (*session, error) {
	ctx, life := fetch.WithIdleTimeout(ctx, c.limits.stall, anyByte)
	defer life.Stop()
	s := &session{at: at, by: c.access.accountFor(at, admitted.Entitled), limits: c.limits}
	var err error
	if s.wire, err = c.access.dial(ctx, at, admitted); err != nil {
		return nil, explain(ctx, at, life, err)
	}
	if s.refs, err = s.advertised(ctx, life); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (a access) dial(ctx context.Context, at location, admitted fetch.Admission) (wire, error) {
	if at.scheme == "ssh" {
		return a.dialSSH(ctx, at, admitted)
	}
	return a.dialHTTP(at, admitted), nil
}

func (s *session) close() { s.wire.close() }

func (s *session) advertised(ctx context.Context, life *fetch.IdleTimeout) (*packp.AdvRefs, error) {
	refs, err := s.wire.advertise(ctx, life)
	if ctx.Err() != nil { // The connection is closed, whatever has arrived.
		return nil, explain(ctx, s.at, life, err)
	}
	if malformed, ok := errors.AsType[*packp.ErrUnexpectedData](err); ok && bytes.Contains(malformed.Data, []byte("object-format=sha256")) {
		return nil, &ObjectFormatError{URL: s.at.String(), Format: "sha256"}
	}
	if said, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		// git and JGit return this error for a repository that they do not serve.
		return nil, &RepositoryNotFoundError{URL: s.at.String(), Prefix: s.by.prefix, Withheld: s.by.withheld, Message: note(said.Text)}
	}
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return nil, errEmptyRepository
	case err != nil:
		return nil, explain(ctx, s.at, life, err)
	case refs.IsEmpty():
		// Newer servers list their capabilities in place of a ref.
		return nil, errEmptyRepository
	}
	return refs, nil
}

// resolve looks up the commit of a ref in the refs that the server sent.
func (s *session) resolve(ref Ref) (commit string, ok bool) {
	name, ok := s.refName(ref)
	if !ok {
		return "", false
	}
	if name == headRef {
		return s.refs.Head.String(), true
	}
	// An annotated tag is an object of its own; Peeled has the commit that it points to.
	if peeled, ok := s.refs.Peeled[name]; ok {
		return peeled.String(), true
	}
	return s.refs.References[name].String(), true
}

const headRef = "HEAD"

// refName returns the full name of a ref, for example refs/heads/main. ok is false if the server
// has no such ref.
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

// request is for the objects in wants, with depth generations of history; depth 0 is the whole
// history.
type request struct {
	wants []plumbing.Hash
	depth int
}

// requests returns the requests that may return commit, the cheapest first. Every server serves
// the objects that its refs point to, and many serve any commit. The last choice is the history
// of a branch.
func (s *session) requests(commit plumbing.Hash, hint Ref) []request {
	var requests []request
	if tip, ok := s.tip(commit); ok {
		requests = append(requests, request{wants: []plumbing.Hash{tip}, depth: 1})
	} else if s.givesAnyCommit() {
		requests = append(requests, request{wants: []plumbing.Hash{commit}, depth: 1})
	}
	tips := s.tips(hint)
	if len(tips) == 0 {
		return requests
	}
	near := tips
	if hint == (Ref{}) && s.refs.Head != nil {
		near = []plumbing.Hash{*s.refs.Head}
	}
	if s.refs.Capabilities.Supports(capability.Shallow) {
		requests = append(requests, request{wants: near, depth: deepened})
	}
	if s.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		return requests // This server serves every reachable commit, so a refused one is in no history.
	}
	return append(requests, request{wants: tips})
}

// tip returns an object that leads to commit and that any server serves: the commit itself when a
// ref points to it, or an annotated tag of it.
func (s *session) tip(commit plumbing.Hash) (plumbing.Hash, bool) {
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

// givesAnyCommit reports whether the server serves commits that no ref points to.
func (s *session) givesAnyCommit() bool {
	return s.refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		s.refs.Capabilities.Supports(capability.AllowTipSHA1InWant)
}

// tips returns the object that ref points to. If ref is empty or the server has no such ref, tips
// returns the tips of all branches and tags.
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

// fetch stores the response to a request in dir. Errors are those of Resolve, *PackError,
// *SizeError or *refusedError.
func (s *session) fetch(ctx context.Context, r request, dir string) (*pack, error) {
	ctx, life := fetch.WithIdleTimeout(ctx, s.limits.stall, anyByte)
	defer life.Stop()
	ask, err := s.compose(r)
	if err != nil {
		return nil, fmt.Errorf("requesting commits from %s: %w", s.at, err)
	}
	var content bytes.Buffer
	if err := encode(&content, ask); err != nil {
		return nil, fmt.Errorf("requesting commits from %s: %w", s.at, err)
	}
	answer, err := s.wire.ask(ctx, content.Bytes())
	if err != nil {
		return nil, explain(ctx, s.at, life, err)
	}
	defer func() { _ = answer.Close() }()
	heard := packp.NewUploadPackResponse(ask)
	if err := heard.Decode(io.NopCloser(life.Reader(answer))); err != nil {
		return nil, explain(ctx, s.at, life, explainResponse(s.at, err))
	}
	download, err := download(demultiplex(heard, ask.Capabilities), dir, s.limits.size)
	if err != nil {
		return nil, explain(ctx, s.at, life, s.explainPack(err, download.size))
	}
	life.Pause() // The server has sent the whole pack.
	made, err := download.index(ctx, s.limits.size)
	if err != nil {
		return nil, errors.Join(explain(ctx, s.at, life, s.explainPack(err, download.size)), download.file.Close())
	}
	return made, nil
}

// compose makes the request, with the capabilities that git requests.
func (s *session) compose(r request) (*packp.UploadPackRequest, error) {
	offered := s.refs.Capabilities
	ask := packp.NewUploadPackRequest()
	ask.Wants = r.wants
	var wanted []capability.Capability
	for _, alternatives := range [][]capability.Capability{
		// Azure DevOps and AWS CodeCommit refuse clients that request none of these. The
		// capabilities change nothing for a client that has no commits.
		{capability.MultiACKDetailed, capability.MultiACK},
		{capability.Sideband64k, capability.Sideband},
		{capability.OFSDelta},
	} {
		if i := slices.IndexFunc(alternatives, offered.Supports); i >= 0 {
			wanted = append(wanted, alternatives[i])
		}
	}
	if r.depth > 0 && offered.Supports(capability.Shallow) {
		ask.Depth = packp.DepthCommits(r.depth)
		wanted = append(wanted, capability.Shallow)
	}
	for _, name := range wanted {
		if err := ask.Capabilities.Set(name); err != nil {
			return nil, fmt.Errorf("capability %s: %w", name, err)
		}
	}
	if offered.Supports(capability.Agent) {
		if err := ask.Capabilities.Set(capability.Agent, capability.DefaultAgent()); err != nil {
			return nil, fmt.Errorf("capability %s: %w", capability.Agent, err)
		}
	}
	return ask, ask.Validate()
}

func encode(to io.Writer, ask *packp.UploadPackRequest) error {
	if err := ask.UploadRequest.Encode(to); err != nil {
		return err
	}
	return pktline.NewEncoder(to).EncodeString("done\n")
}

// explainResponse gives a type to an error before the pack.
func explainResponse(at location, err error) error {
	if said, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		return &refusedError{note(said.Text)}
	}
	return &PackError{URL: at.String(), Err: err}
}

// explainPack gives a type to an error in the pack.
func (s *session) explainPack(err error, received int64) error {
	switch {
	case errors.Is(err, errTooLarge):
		return &SizeError{URL: s.at.String(), Limit: s.limits.size}
	case errors.Is(err, errNoPack):
		return &refusedError{"it sent no data"}
	case isA[*storeError](err):
		return fmt.Errorf("storing the data received from %s: %w; free disk space, or set another cache_dir", s.at, err)
	}
	return &PackError{URL: s.at.String(), Received: received, Err: err}
}

// demultiplex returns the pack in a response that may also contain messages.
func demultiplex(answer io.Reader, asked *capability.List) io.Reader {
	switch {
	case asked.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case asked.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}
