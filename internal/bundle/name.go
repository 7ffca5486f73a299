package bundle

import (
	"crypto/md5" //nolint:gosec // Fleet's names are made with MD5; nothing is secured by it.
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// maxName is the longest name that Helm accepts for a release.
	maxName = 53
	// cutName is how many characters of a longer name are kept, before "-" and five characters of
	// a hash.
	cutName = 47
)

var (
	disallowed = regexp.MustCompile(`[^a-z0-9]+`)
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// Name makes the name of a bundle from the name of its repository and its path: a DNS label of at
// most 53 characters. It follows Fleet's internal/names/name.go: "test/App_One" gives
// "test-app-one-" and eight characters of a hash, because "A" and "_" were replaced.
func Name(seed string) string {
	name := strings.ReplaceAll(seed, "/", "-")
	if strings.ContainsFunc(name, isLost) {
		name += "-" + md5Hex(name)[:8]
	}
	name = strings.Trim(disallowed.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if !dnsLabel.MatchString(name) {
		return md5Hex(seed)[:24]
	}
	if len(name) <= maxName {
		return name
	}
	return strings.TrimSuffix(name[:cutName], "-") + "-" + md5Hex(name)[:5]
}

// ReleaseName returns the name of the Helm release of a bundle that does not set one.
func ReleaseName(bundleName string) string { return Name(bundleName) }

// isLost reports whether a name cannot contain r as it is.
func isLost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
}

func md5Hex(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // See the import.
	return hex.EncodeToString(sum[:])
}
