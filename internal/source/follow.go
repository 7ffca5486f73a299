package source

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// FollowedChart is the newest version that a chart allowed when it was last looked for.
type FollowedChart struct {
	Chart   bundle.Chart `json:"chart"`
	Version string       `json:"version"`
}

// DecodeFollowed reads what Encode has written; nothing is the zero value.
func DecodeFollowed(raw []byte) (FollowedChart, error) {
	var followed FollowedChart
	if len(raw) == 0 {
		return followed, nil
	}
	if err := json.Unmarshal(raw, &followed); err != nil {
		return FollowedChart{}, fmt.Errorf("reading the version of a chart that is followed: %w", err)
	}
	return followed, nil
}

// Encode writes it as JSON.
func (f FollowedChart) Encode() ([]byte, error) { return json.Marshal(f) }

// FollowChart looks for the newest version that a chart allows.
func (s *Store) FollowChart(ctx context.Context, chart bundle.Chart) (FollowedChart, error) {
	if s.charts.charts == nil {
		return FollowedChart{}, errNoCharts
	}
	version, err := s.charts.charts.Version(ctx, chart)
	if err != nil {
		return FollowedChart{}, fmt.Errorf("looking for newer versions of the chart: %w", err)
	}
	return FollowedChart{Chart: chart, Version: version}, nil
}

// move makes pins of the chart lead to its followed version if that is newer than the one they have.
func (f FollowedChart) move(pins []Pinned) {
	for i, pinned := range pins {
		if pinned.Folder == "" && pinned.Chart == f.Chart && isNewer(f.Version, pinned.Pin.Version) {
			pins[i].Pin = bundle.Pin{Version: f.Version}
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
