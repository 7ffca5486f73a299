package bundle

import (
	"regexp"
	"strings"
)

// generatedVersion begins the version of a chart that is made for a bundle without one, such as
// "v0.0.0+696edf59fe8e".
const generatedVersion = "v0.0.0+"

var isGenerated = regexp.MustCompile(`^` + regexp.QuoteMeta(generatedVersion) + `[0-9a-f]{1,12}$`)

// GeneratedVersion returns the version of a chart that is made for a bundle without one. It is made
// from the bundle's content and not from a commit, so that a commit that does not change the files
// does not change the release.
func GeneratedVersion(digest string) string {
	const length = 12
	hex := digest[strings.LastIndex(digest, "-")+1:]
	return generatedVersion + hex[:min(length, len(hex))]
}

// ChartText returns the text of a chart for users, such as "web-1.0.0", and "-" if nothing is known. A
// generated version is left out: it is the beginning of a digest, which texts have besides.
func ChartText(chart, version string) string {
	if isGenerated.MatchString(version) || version == "" && chart != "" {
		return chart
	}
	return chart + "-" + version
}
