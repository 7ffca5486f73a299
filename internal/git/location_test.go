package git

import (
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		prefix, repo string
		want         bool
	}{
		{"host", "https://github.com", "https://github.com/acme/fleet", true},
		{"host with slash", "https://github.com/", "https://github.com/acme/fleet", true},
		{"group", "https://github.com/acme", "https://github.com/acme/fleet", true},
		{"group with slash", "https://github.com/acme/", "https://github.com/acme/fleet.git", true},
		{"whole", "https://github.com/acme/fleet", "https://github.com/acme/fleet", true},
		{"case and port of the host", "https://GitHub.com:443/acme", "https://github.com/acme/fleet", true},
		{"part of a segment", "https://github.com/acme", "https://github.com/acme-evil/fleet", false},
		{"part of a host", "https://github.com", "https://github.com.evil.org/acme", false},
		{"host as user", "https://github.com", "https://github.com@evil.org/acme", false},
		{"subdomain", "https://github.com", "https://api.github.com/acme", false},
		{"another port", "https://github.com", "https://github.com:8443/acme", false},
		{"weaker scheme", "https://github.com", "http://github.com/acme", false},
		{"longer than the URL", "https://github.com/acme/fleet/x", "https://github.com/acme/fleet", false},
		{"case of the path", "https://github.com/Acme", "https://github.com/acme/fleet", false},
		{"doubled slashes", "https://github.com/acme", "https://github.com//acme/fleet", true},
		{"scp and ssh", "ssh://git@github.com/acme", "git@github.com:acme/fleet", true},
		{"scp as prefix", "git@github.com:acme", "ssh://git@github.com/acme/fleet", true},
		{"any ssh user", "ssh://github.com", "git@github.com:acme/fleet", true},
		{"another ssh user", "ssh://deploy@github.com", "git@github.com:acme/fleet", false},
		{"ssh and https", "ssh://github.com", "https://github.com/acme/fleet", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prefix, err := parseLocation(tt.prefix)
			if err != nil {
				t.Fatal(err)
			}
			repo, err := parseLocation(tt.repo)
			if err != nil {
				t.Fatal(err)
			}
			if got := prefix.scope().Covers(repo.scope()); got != tt.want {
				t.Errorf("%q covers %q: %t, want %t", tt.prefix, tt.repo, got, tt.want)
			}
		})
	}
}

func TestSubmoduleLocation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, repo, url, want string // "" for an error.
	}{
		{"beside", "https://github.com/acme/fleet", "../lib", "https://github.com/acme/lib"},
		{"beside, with slashes", "https://github.com/acme/fleet/", "../lib/", "https://github.com/acme/lib"},
		{"below", "https://github.com/acme/fleet", "./lib", "https://github.com/acme/fleet/lib"},
		{"of another group", "https://github.com/acme/fleet", "../../other/lib.git", "https://github.com/other/lib.git"},
		{"at the top", "https://github.com/acme/fleet", "../../lib", "https://github.com/lib"},
		{"short form", "git@github.com:acme/fleet", "../lib", "git@github.com:acme/lib"},
		{"short form, at the top", "git@github.com:fleet", "../lib", "git@github.com:lib"},
		{"ssh with a port", "ssh://git@github.com:2222/acme/fleet", "../lib", "ssh://git@github.com:2222/acme/lib"},
		{"absolute", "https://github.com/acme/fleet", "git@gitlab.com:x/y", "git@gitlab.com:x/y"},
		{"above the host", "https://github.com/acme/fleet", "../../../lib", ""},
		{"the host", "https://github.com/acme/fleet", "../..", ""},
		{"above the host of the short form", "git@github.com:fleet", "../../lib", ""},
		{"with a percent sign", "https://github.com/acme/fleet", "../%2e%2e/lib", ""},
		{"local", "https://github.com/acme/fleet", "/srv/lib", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo, err := parseLocation(tt.repo)
			if err != nil {
				t.Fatal(err)
			}
			got, err := repo.submodule(tt.url)
			if tt.want == "" {
				if err == nil {
					t.Errorf("%s of %s is %s, want an error", tt.url, tt.repo, got)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("%s of %s is %s, %v, want %s", tt.url, tt.repo, got, err, tt.want)
			}
		})
	}
}

func FuzzSubmoduleLocation(f *testing.F) {
	for _, seed := range []string{"../lib", "./a/../b", "../../../x", "https://example.com/x", "..//..", "../%2e", "./\x00"} {
		f.Add(seed)
	}
	repo, err := parseLocation("https://github.com/acme/fleet")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, url string) {
		got, err := repo.submodule(url)
		if err == nil && (refusePath(got.path) != "" || len(got.scope().Segments()) == 0 && got.host == repo.host) {
			t.Errorf("%q leads to %+v", url, got)
		}
	})
}

func FuzzParseLocation(f *testing.F) {
	for _, seed := range []string{"https://github.com/acme/fleet", "git@github.com:acme/fleet", "ssh://git@[::1]:2222/x", "file:///x", "https://u:p@h/x", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, repo string) {
		at, err := parseLocation(repo)
		if err != nil {
			return
		}
		if !at.scope().Covers(at.scope()) {
			t.Errorf("%q does not cover itself", repo)
		}
		if at.host == "" || at.port == 0 || slices.Contains(at.scope().Segments(), "..") {
			t.Errorf("%q was read as %+v", repo, at)
		}
		if endpoint, err := transport.NewEndpoint(at.String()); err == nil && endpoint.Password != "" {
			t.Errorf("%q is shown with a password: %s", repo, at)
		}
	})
}
