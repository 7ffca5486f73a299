package git

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// location is the parsed address of a repository, or a parsed prefix of such addresses. It
// contains no password.
type location struct {
	scheme string // http, https or ssh.
	user   string
	host   string // Lower case, IPv6 addresses in brackets.
	port   int    // Never 0.
	path   string // As it is sent: starts with "/", except in git@host:path.
	scp    bool   // Written as git@host:path.
}

// parseLocation reads https://host/path, http://, ssh://user@host/path and the
// short form user@host:path. The error is an *UnsupportedURLError.
func parseLocation(repo string) (location, error) {
	endpoint, err := transport.NewEndpoint(repo)
	if err != nil {
		// The text of the error may contain a password.
		return location{}, &UnsupportedURLError{URL: redact(repo), Reason: "it is not a valid URL"}
	}
	if reason := refuse(endpoint); reason != "" {
		return location{}, &UnsupportedURLError{URL: redact(repo), Reason: reason}
	}
	return location{
		scheme: endpoint.Protocol,
		user:   endpoint.User,
		host:   strings.ToLower(endpoint.Host),
		port:   cmp.Or(endpoint.Port, defaultPort(endpoint.Protocol)),
		path:   endpoint.Path,
		scp:    endpoint.Protocol == "ssh" && !strings.Contains(repo, "://"),
	}, nil
}

// refuse returns why an endpoint cannot be read, "" if it can.
func refuse(endpoint *transport.Endpoint) string {
	switch endpoint.Protocol {
	case "http", "https", "ssh":
	case "file":
		return "local repositories need a git binary; use directory for a local checkout, or a URL that starts with https:// or ssh://"
	default:
		return "the scheme " + strconv.Quote(endpoint.Protocol) + " is not supported; use https://, ssh:// or git@host:path"
	}
	if strings.ContainsFunc(endpoint.User+endpoint.Host, unicode.IsControl) {
		return "it contains a control character"
	}
	if endpoint.Host == "" {
		return "it has no host"
	}
	if endpoint.Password != "" || strings.Contains(endpoint.User, ":") {
		return "a password in a URL would be stored in Terraform's state; move it to the provider's git map"
	}
	return refusePath(endpoint.Path)
}

// refusePath returns why the path of a repository cannot be read, "" if it can.
func refusePath(path string) string {
	switch {
	case strings.ContainsFunc(path, unicode.IsControl):
		return "it contains a control character"
	case strings.ContainsAny(path, "?#"):
		return "it has a query or a fragment; choose a branch, tag or commit with branch or revision"
	case leavesPath(path):
		return `its path must not contain "..", "%" or "\"`
	}
	return ""
}

// leavesPath reports whether a server may resolve a path to another path. Credentials are chosen
// by path: a server that resolves "/acme/../evil" to "/evil" must not get the credentials of
// acme.
func leavesPath(path string) bool {
	return strings.ContainsAny(path, `%\`) || slices.Contains(strings.Split(path, "/"), "..")
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "ssh":
		return 22
	}
	return 443
}

// String returns the address as people write it. The user of an HTTP address is left out, because
// it may be a token.
func (l location) String() string {
	user := ""
	if l.user != "" && l.scheme == "ssh" {
		user = l.user + "@"
	}
	if l.scp && l.port == defaultPort("ssh") {
		return user + l.host + ":" + l.path
	}
	return l.scheme + "://" + user + l.address() + "/" + strings.TrimPrefix(l.path, "/")
}

// address returns host:port, without the port when it is the default one.
func (l location) address() string {
	if l.port == defaultPort(l.scheme) {
		return l.host
	}
	return l.hostPort()
}

// hostPort returns the address to dial.
func (l location) hostPort() string {
	return net.JoinHostPort(strings.Trim(l.host, "[]"), strconv.Itoa(l.port))
}

// url returns the address for an HTTP client, without the user.
func (l location) url() string {
	return (&url.URL{Scheme: l.scheme, Host: l.address(), Path: strings.TrimRight(l.path, "/")}).String()
}

// scope returns the parts of the address that select the credentials.
func (l location) scope() fetch.Scope {
	return fetch.NewScope(l.scheme, l.user, l.address(), l.path)
}

// redact removes the credentials from an address, which may be invalid.
func redact(repo string) string {
	scheme, rest, ok := strings.Cut(repo, "://")
	if ok {
		scheme += "://"
	} else {
		scheme, rest = "", repo
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 && (ok || strings.Contains(rest[:at], ":")) {
		rest = rest[at+1:]
	}
	if query := strings.IndexAny(rest, "?#"); query >= 0 { // It can contain a token.
		rest = rest[:query] + "?…"
	}
	return scheme + rest
}
