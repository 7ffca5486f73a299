package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// FollowedChart is the newest version that a chart allowed when its versions were last looked up.
type FollowedChart struct {
	Chart   bundle.Chart `json:"chart"`
	Version string       `json:"version"`
}

// FollowedCharts are the charts whose newer versions are deployed, in the order of their addresses.
type FollowedCharts []FollowedChart

// DecodeFollowed reads what is stored of FollowedCharts. Empty input is no charts.
func DecodeFollowed(raw []byte) (FollowedCharts, error) {
	return decode[FollowedCharts](raw, "the versions of charts that are followed")
}

// Encode writes the charts as JSON.
func (f FollowedCharts) Encode() ([]byte, error) { return json.Marshal(f) }

// ChartsToFollow returns the charts of bundles that allow more than one version, each once. These
// are charts of Helm repositories and OCI registries. Elements whose descriptor is not known yet
// are left out.
func ChartsToFollow(bundles map[string]Element) ([]bundle.Chart, error) {
	found := map[bundle.Chart]bool{}
	for name, element := range bundles {
		if element.Descriptor == "" {
			continue
		}
		pins, err := PinsOf(element.Descriptor)
		if err != nil {
			return nil, &ElementError{Bundle: name, Problem: UnreadableDescriptor, Err: err}
		}
		for _, pinned := range pins {
			if pinned.Folder == "" && allowsMore(pinned.Chart) {
				found[pinned.Chart] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), compareCharts), nil
}

func allowsMore(chart bundle.Chart) bool {
	at, err := chart.Location()
	if err != nil || at.Kind != bundle.Repository && at.Kind != bundle.OCI {
		return false
	}
	_, err = semver.StrictNewVersion(strings.TrimPrefix(at.Version, "v"))
	return err != nil
}

func compareCharts(a, b bundle.Chart) int {
	return cmp.Or(strings.Compare(a.Repo, b.Repo), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
}

// FollowCharts finds the newest version that each chart allows. spec limits what is fetched and where
// credentials are sent. If the versions of a chart cannot be read, its version in before is kept, and failed
// contains the error.
func (s *Store) FollowCharts(ctx context.Context, spec Spec, charts []bundle.Chart,
	before FollowedCharts,
) (found FollowedCharts, failed []error) {
	versions := make([]string, len(charts))
	errs := each(len(charts), func(int) string { return "looking for versions of a chart" }, func(i int) (err error) {
		versions[i], err = s.charts.version(ctx, spec, charts[i])
		return err
	})
	for i, chart := range charts {
		version := versions[i]
		if errs[i] != nil {
			failed = append(failed, fmt.Errorf("looking for newer versions of the chart: %w", errs[i]))
			version = before.of(chart)
		}
		if version != "" {
			found = append(found, FollowedChart{Chart: chart, Version: version})
		}
	}
	return found, failed
}

func (c chartSources) version(ctx context.Context, spec Spec, chart bundle.Chart) (string, error) {
	if c.charts == nil {
		return "", errNoCharts
	}
	charts, err := c.chartsFor(spec, chart)
	if err != nil {
		return "", err
	}
	if ctx, err = spec.within(ctx); err != nil {
		return "", err
	}
	return charts.Version(ctx, chart)
}

// of returns the version of a chart, "" if there is none.
func (f FollowedCharts) of(chart bundle.Chart) string {
	i := slices.IndexFunc(f, func(of FollowedChart) bool { return of.Chart == chart })
	if i < 0 {
		return ""
	}
	return f[i].Version
}

// move changes pins of charts to their followed versions if those are newer.
func (f FollowedCharts) move(pins []Pinned) {
	for i, pinned := range pins {
		if version := f.of(pinned.Chart); pinned.Folder == "" && isNewer(version, pinned.Pin.Version) {
			pins[i].Pin = bundle.Pin{Version: version}
		}
	}
}

func isNewer(version, than string) bool {
	a, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(than)
	return err == nil && a.GreaterThan(b)
}
