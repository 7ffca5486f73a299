package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// globs are patterns of sources with the globs of package path.
type globs []string

func (g globs) Match(address string) bool {
	for _, pattern := range g {
		if matches, err := path.Match(pattern, address); err == nil && matches {
			return true
		}
	}
	return false
}

func (g globs) Names(address string) bool {
	return g.Match(address) && !strings.HasPrefix(g[0], "*")
}

func (g globs) Key() string { return fmt.Sprintf("%q", []string(g)) }

func (g globs) String() string { return strings.Join(g, ", ") }

// Who may fetch what is decided here alone.
func TestAdmit(t *testing.T) {
	t.Parallel()
	const own = "https://git.example.com/acme/web"
	anything, trusted := fetch.Admission{}, fetch.Admission{Trusted: true}
	entitled := fetch.Admission{Trusted: true, Entitled: true}
	boundary := fetch.Boundary{Named: []fetch.Scope{scope(t, "https://charts.example.com/acme"), scope(t, "https://git.example.com")}}
	for name, test := range map[string]struct {
		sources globs
		at      string
		part    string
		want    fetch.Admission
		refused bool
	}{
		"the configured repository":                 {at: own, want: entitled},
		"it, whatever sources allows":               {sources: globs{}, at: own, want: entitled},
		"another repository below the same entry":   {at: "https://git.example.com/acme/secret", want: trusted},
		"a path below the configured repository":    {at: own + "/secret", want: trusted},
		"below an entry":                            {at: "https://charts.example.com/acme/x", want: trusted},
		"beside an entry":                           {at: "https://charts.example.com/acme-evil"},
		"anything":                                  {at: "https://example.org/x", want: anything},
		"anything, with no source":                  {sources: globs{}, at: "https://example.org/x", refused: true},
		"another source":                            {sources: globs{"https://example.org/*"}, at: "https://example.com/x", refused: true},
		"a source":                                  {sources: globs{"https://example.org/*"}, at: "https://example.org/x", want: entitled},
		"a source with a slash at its end":          {sources: globs{"https://example.org/"}, at: "https://example.org", want: entitled},
		"a source of any host":                      {sources: globs{"*://*/*"}, at: "https://example.org/x", want: fetch.Admission{Entitled: true}},
		"a chart of a repository":                   {sources: globs{"https://example.org/web"}, at: "https://example.org", part: "web", want: entitled},
		"another chart of it":                       {sources: globs{"https://example.org/web"}, at: "https://example.org", part: "db", refused: true},
		"an entry that is no source":                {sources: globs{"https://example.org/*"}, at: "https://charts.example.com/acme/x", refused: true},
		"a path that climbs out of a source":        {sources: globs{"https://example.org/acme/*"}, at: "https://example.org/acme/%2e%2e/evil", refused: true},
		"a path that a server may read in two ways": {sources: globs{"https://example.org/acme/*"}, at: "https://example.org/evil%2f..%2facme/x", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reach := fetch.Reach{Named: []fetch.Scope{scope(t, own)}}
			if test.sources != nil {
				reach.Sources = test.sources
			}
			got, err := boundary.Admit(fetch.WithReach(t.Context(), reach), scope(t, test.at), test.part)
			refusal, refused := errors.AsType[*fetch.RefusedError](err)
			if refused != test.refused || refused && !strings.Contains(refusal.Error(), refusal.Address) {
				t.Errorf("error %v, want a refusal: %t", err, test.refused)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A fetch of one source is not the fetch of another one for which something else was decided.
func TestKeyFor(t *testing.T) {
	t.Parallel()
	at := scope(t, "https://example.org/x")
	keys := map[string]string{}
	for name, ctx := range map[string]context.Context{
		"named":       fetch.Naming(t.Context(), at),
		"not named":   fetch.WithReach(t.Context(), fetch.Reach{}),
		"any source":  fetch.WithReach(t.Context(), fetch.Reach{Sources: globs{"https://*/*"}}),
		"the source":  fetch.WithReach(t.Context(), fetch.Reach{Sources: globs{"https://example.org/*"}}),
		"none of all": fetch.WithReach(t.Context(), fetch.Reach{Sources: globs{}}),
	} {
		key := fetch.Boundary{}.KeyFor(ctx, at, "web 1.0.0")
		if other, twice := keys[key]; twice {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[key] = name
	}
	again := fetch.Boundary{}.KeyFor(fetch.WithReach(t.Context(), fetch.Reach{Named: []fetch.Scope{scope(t, "https://example.com")}}), at, "web 1.0.0")
	if keys[again] != "not named" {
		t.Error("two sources for which the same was decided do not share a fetch")
	}
}
