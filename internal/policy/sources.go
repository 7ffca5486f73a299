package policy

import (
	"errors"
	"fmt"
	"strings"
)

// Sources are the patterns of addresses that may be fetched.
type Sources struct{ patterns }

var errSourceScheme = errors.New("it must be the pattern of a URL: https://, http://, ssh:// or oci://, a host and a path, such as https://github.com/acme/**")

// NewSources compiles patterns.
func NewSources(texts []string) (Sources, error) {
	made, err := compileGlobs(texts)
	return Sources{made}, err
}

// CheckSource returns what is wrong with a pattern.
func CheckSource(text string) error {
	if !strings.Contains(text, "://") && strings.Trim(text, "*") != "" {
		return errSourceScheme
	}
	_, err := compileGlob(text)
	return err
}

// Key returns the same text for the same patterns alone.
func (s Sources) Key() string { return fmt.Sprintf("%q", s.texts()) }

// Match reports whether a pattern matches an address.
func (s Sources) Match(address string) bool { return s.match(address) }

// Names is Match for the patterns without a wildcard in the host. Other patterns do not tell that
// somebody thought of this host.
func (s Sources) Names(address string) bool {
	var named patterns
	for _, one := range s.patterns {
		if _, rest, ok := strings.Cut(one.text, "://"); ok {
			if host, _, _ := strings.Cut(rest, "/"); !strings.ContainsAny(host, "*?") {
				named = append(named, one)
			}
		}
	}
	return named.match(address)
}
