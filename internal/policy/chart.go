package policy

import (
	"strings"

	"github.com/Masterminds/semver/v3"
)

// allows reports whether a chart is allowed. The version of a dependency is not known, so only its
// address is compared.
func (a allowedChart) allows(chart ChartSource) bool {
	if !a.source.re.MatchString(chart.Address) {
		return false
	}
	if a.version == nil || chart.IsDependency {
		return true
	}
	version, err := semver.NewVersion(chart.Version)
	return err == nil && a.version.Check(version)
}

func textOf(charts []allowedChart) string {
	list := make(patterns, len(charts))
	for i, chart := range charts {
		list[i] = pattern{text: strings.TrimSpace(chart.text)}
	}
	return list.String()
}
