package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Boundary is what the provider block allows the content of any source to reach.
type Boundary struct {
	// Named are the prefixes of URLs that have an entry in git or registries.
	Named []Scope
	// RefusesPrivate is true if private addresses need such an entry, too.
	RefusesPrivate bool
}

// Patterns are the patterns of sources.
type Patterns interface {
	// Match reports whether a pattern matches an address.
	Match(address string) bool
	// Names is Match for the patterns without a wildcard in the host.
	Names(address string) bool
	// Key returns the same text for the same patterns alone.
	Key() string
	// String returns a text for people.
	String() string
}

// Reach is what the content of one source may make the provider fetch.
type Reach struct {
	// Repository is the address of the configured repository, "" for none.
	Repository string
	// Configured is true if the configuration gives the address that is fetched.
	Configured bool
	// Named are the addresses that the configuration itself gives for this source.
	Named []Scope
	// Sources are the allowed addresses. If it is nil, all addresses are allowed, without the
	// credentials of git.
	Sources Patterns
}

// Admission is the decision about one address.
type Admission struct {
	// Trusted is true if the address may be in a network that is not public.
	Trusted bool
	// Entitled is true if credentials of git may be used.
	Entitled bool
}

// RefusedError reports an address that no pattern of sources matches.
type RefusedError struct {
	Address string
	Sources Patterns
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("fetching %s is refused: no pattern of sources matches it (%s)", e.Address, e.Sources)
}

type reachKey struct{}

// WithReach returns a context for fetches that the content of a source causes.
func WithReach(ctx context.Context, reach Reach) context.Context {
	return context.WithValue(ctx, reachKey{}, reach)
}

// ReachOf returns the Reach of a context.
func ReachOf(ctx context.Context) (reach Reach, ok bool) {
	reach, ok = ctx.Value(reachKey{}).(Reach)
	return reach, ok
}

// Naming returns a context for the fetch of an address and of what its content names. The address is
// named if the configuration gives it. Without a Reach it does.
func Naming(ctx context.Context, at Scope) context.Context {
	reach, ok := ReachOf(ctx)
	if ok && !reach.Configured {
		return ctx
	}
	reach.Configured, reach.Named = false, append(slices.Clip(reach.Named), at)
	return WithReach(ctx, reach)
}

// Admit decides about an address. name is a part that the address has only in sources, such as the
// name of a chart in a repository. The error is a *RefusedError.
func (b Boundary) Admit(ctx context.Context, at Scope, name string) (Admission, error) {
	reach, _ := ReachOf(ctx)
	isAllowed := reach.Sources != nil && at.all(name, reach.Sources.Match)
	if reach.Sources != nil && !isAllowed && !anyCovers(reach.Named, at) {
		return Admission{}, &RefusedError{Address: at.texts(name)[0], Sources: reach.Sources}
	}
	isConfigured := slices.ContainsFunc(reach.Named, func(s Scope) bool { return s.Covers(at) && at.Covers(s) })
	return Admission{Trusted: b.trusts(reach, at, name), Entitled: isAllowed || isConfigured}, nil
}

// Trusts reports whether the server of an address may be in a network that is not public.
func (b Boundary) Trusts(ctx context.Context, at Scope) bool {
	reach, _ := ReachOf(ctx)
	return b.trusts(reach, at, "")
}

func (b Boundary) trusts(reach Reach, at Scope, name string) bool {
	return anyCovers(b.Named, at) || anyCovers(reach.Named, at) || reach.Sources != nil && at.all(name, reach.Sources.Names)
}

func anyCovers(prefixes []Scope, at Scope) bool {
	return slices.ContainsFunc(prefixes, func(s Scope) bool { return s.Covers(at) })
}

// KeyFor returns a key of a cache. Callers share a value only if the same was decided about them.
func (b Boundary) KeyFor(ctx context.Context, at Scope, key string) string {
	sources := ""
	if reach, _ := ReachOf(ctx); reach.Sources != nil {
		sources = reach.Sources.Key()
	}
	admitted, err := b.Admit(ctx, at, "")
	return fmt.Sprintf("%q %v %t %s", key, admitted, err == nil, sources)
}

// all reports whether a condition is true for the address in both ways in which a server may read
// its path.
func (s Scope) all(name string, condition func(string) bool) bool {
	return !slices.ContainsFunc(s.texts(name), func(text string) bool { return !condition(text) && !condition(text+"/") })
}

// texts returns the address without its user, in both ways in which a server may read its path.
func (s Scope) texts(name string) []string {
	var texts []string
	for _, segments := range [][]string{s.resolved, s.literal} {
		if name != "" {
			segments = append(slices.Clip(segments), name)
		}
		texts = append(texts, s.Scheme+"://"+strings.Join(append([]string{s.Host}, segments...), "/"))
	}
	return slices.Compact(texts)
}
