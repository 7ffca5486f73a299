package bundle

import "strings"

// shortDigestLength is how many digits of a digest a person reads in a plan. They only show that
// something changed: code that makes a decision compares whole digests.
const shortDigestLength = 8

// ShortDigest returns the first eight digits of a digest, without the version of its algorithm:
// "ac881d87" of "v1-ac881d87e0…". A shorter digest is returned as it is.
func ShortDigest(digest string) string {
	digits := digest
	if end := strings.IndexAny(digest, "-:"); end >= 0 {
		digits = digest[end+1:]
	}
	return digits[:min(len(digits), shortDigestLength)]
}
