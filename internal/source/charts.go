package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Charts fetches Helm charts that are stored outside of their bundle.
type Charts interface {
	// Fetch returns the files of a chart, relative to its folder, and a pin for the version that
	// was found. If pin is not empty, the chart must match it.
	Fetch(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
	// FetchAlone is Fetch without the charts that the chart depends on.
	FetchAlone(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
	// Version returns the newest version that a chart allows.
	Version(ctx context.Context, chart bundle.Chart) (string, error)
	// Dependencies returns the charts that the chart in a folder of files depends on and that are
	// missing in files, as additional files.
	Dependencies(ctx context.Context, files []bundle.File, folder string, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
}

// Pinned is the version that was found of a chart outside of the bundle, or the versions of the
// dependencies of a chart in the bundle.
type Pinned struct {
	// Chart is the zero value for dependencies.
	Chart bundle.Chart `json:"chart,omitzero"`
	// Folder is the folder of the chart in the bundle that the dependencies belong to.
	Folder string     `json:"folder,omitempty"`
	Pin    bundle.Pin `json:"pin"`
}

// Pins are the versions that an earlier reading found, by the name of the bundle.
type Pins map[string][]Pinned

// DecodePins reads what is stored of Pins, nil if that is empty.
func DecodePins(raw []byte) (Pins, error) {
	return decode[Pins](raw, "the charts that a plan has found")
}

// Encode writes pins for private data.
func (p Pins) Encode() ([]byte, error) { return json.Marshal(p) }

// decode reads a value from private data. Empty input is the zero value.
func decode[T any](raw []byte, what string) (value T, err error) {
	if len(raw) == 0 {
		return value, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, fmt.Errorf("reading %s: %w", what, err)
	}
	return value, nil
}

// charts returns the charts of bundles.
func (s BundleSet) charts() Pins {
	pins := Pins{}
	for _, made := range s.Bundles {
		if len(made.Charts) > 0 {
			pins[made.Bundle.Name] = made.Charts
		}
	}
	return pins
}

// PinsOf returns the pins in a descriptor.
func PinsOf(descriptor string) ([]Pinned, error) {
	d, err := Decode(descriptor)
	return d.Charts, err
}

// chartSources are the sources from which charts of bundles are fetched.
type chartSources struct {
	git    Git
	charts Charts
	public Charts // Without credentials.
}

// complete fetches the charts that a bundle needs in addition to its own files. A chart that does
// not match its pin is an error.
func (c chartSources) complete(ctx context.Context, spec Spec, b *bundle.Bundle, pins []Pinned) (Generated, error) {
	made := Generated{Bundle: b, Pinned: true}
	if len(b.Wanted()) == 0 && len(b.Unmet()) == 0 {
		return made, nil
	}
	if c.charts == nil {
		return Generated{}, errNoCharts
	}
	ctx, err := spec.within(ctx)
	if err != nil {
		return Generated{}, err
	}
	var added []bundle.File
	for _, chart := range b.Wanted() {
		known, ok := find(pins, func(p Pinned) bool { return p.Folder == "" && p.Chart == chart })
		alone := b.Definition.Helm != nil && b.Definition.Helm.DisableDependencyUpdate
		files, pin, err := c.fetchChart(ctx, spec, chart, known.Pin, alone)
		if err != nil {
			return Generated{}, fmt.Errorf("fetching the chart of bundle %s: %w", b.Name, err)
		}
		made.Charts = append(made.Charts, Pinned{Chart: chart, Pin: pin})
		made.Pinned = made.Pinned && ok
		added = append(added, below(files, chart.Directory())...)
	}
	for _, folder := range b.Unmet() {
		known, ok := find(pins, func(p Pinned) bool { return p.Folder == folder })
		files, pin, err := c.chartsForDependencies(spec).Dependencies(ctx, b.Files, folder, known.Pin)
		if err != nil {
			return Generated{}, fmt.Errorf("fetching the dependencies of chart %s of bundle %s: %w", folder, b.Name, err)
		}
		made.Charts = append(made.Charts, Pinned{Folder: folder, Pin: pin})
		// A pin of other dependencies than those in Chart.yaml now was not used.
		made.Pinned = made.Pinned && ok && maps.Equal(pin.Dependencies, known.Pin.Dependencies)
		added = append(added, files...)
	}
	complete, err := b.Add(added)
	if err != nil {
		return Generated{}, fmt.Errorf("building bundle %s: %w", b.Name, err)
	}
	made.Bundle = &complete
	return made, nil
}

var errNoCharts = errors.New("charts cannot be fetched here")

func find(pins []Pinned, match func(Pinned) bool) (Pinned, bool) {
	i := slices.IndexFunc(pins, match)
	if i < 0 {
		return Pinned{}, false
	}
	return pins[i], true
}

// chartsFor returns the fetcher for a chart. The fetcher uses credentials, unless the Spec limits
// them to other addresses.
func (c chartSources) chartsFor(spec Spec, chart bundle.Chart) (Charts, error) {
	allowed, err := spec.allowsCredentials(cmp.Or(chart.Repo, chart.Name))
	if err != nil {
		return nil, err
	}
	if allowed {
		return c.charts, nil
	}
	return c.public, nil
}

// allowsCredentials reports whether credentials are used for an address. As in Fleet, the
// expression must match at the beginning (internal/bundlereader/resources.go).
func (s Spec) allowsCredentials(address string) (bool, error) {
	if s.HelmRepoURLRegex == "" {
		return true, nil
	}
	allowed, err := regexp.Compile("^(?:" + s.HelmRepoURLRegex + ")")
	if err != nil {
		return false, fmt.Errorf("helm_repo_url_regex: %w", err)
	}
	return allowed.MatchString(address), nil
}

// chartsForDependencies returns the fetcher for dependencies. It uses no credentials if the Spec
// limits them, because dependencies can be stored at any address.
func (c chartSources) chartsForDependencies(spec Spec) Charts {
	if spec.HelmRepoURLRegex != "" {
		return c.public
	}
	return c.charts
}

// fetchChart fetches a chart from any kind of location, with its dependencies unless alone is true.
func (c chartSources) fetchChart(ctx context.Context, spec Spec, chart bundle.Chart,
	pin bundle.Pin, alone bool,
) ([]bundle.File, bundle.Pin, error) {
	location, err := chart.Location()
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	if location.Kind == bundle.Git {
		return c.fetchFromGit(ctx, spec, location, pin, alone)
	}
	charts, err := c.chartsFor(spec, chart)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	switch {
	case alone:
		return charts.FetchAlone(ctx, chart, pin)
	case spec.HelmRepoURLRegex != "":
		return c.fetchLimited(ctx, charts, chart, pin)
	}
	return charts.Fetch(ctx, chart, pin)
}

// fetchLimited fetches a chart with charts, and its dependencies without credentials.
func (c chartSources) fetchLimited(ctx context.Context, charts Charts,
	chart bundle.Chart, pin bundle.Pin,
) ([]bundle.File, bundle.Pin, error) {
	dependencies := bundle.Pin{Dependencies: pin.Dependencies}
	pin.Dependencies = nil
	files, found, err := charts.FetchAlone(ctx, chart, pin)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	added, dependencies, err := c.public.Dependencies(ctx, files, ".", dependencies)
	found.Dependencies = dependencies.Dependencies
	return slices.Concat(files, added), found, err
}

func (c chartSources) fetchFromGit(ctx context.Context, spec Spec,
	at bundle.Location, pin bundle.Pin, alone bool,
) ([]bundle.File, bundle.Pin, error) {
	if c.git == nil {
		return nil, bundle.Pin{}, errNoGit
	}
	ref := Ref{Revision: at.Ref}
	commit := pin.Version
	if commit == "" {
		var err error
		if commit, err = c.git.Resolve(ctx, at.URL, ref); err != nil {
			return nil, bundle.Pin{}, err
		}
	}
	repository, err := c.git.Fetch(ctx, at.URL, commit, ref)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	folder, err := enter(repository, at.Subdirectory)
	if err != nil {
		return nil, bundle.Pin{}, fmt.Errorf("reading commit %s of %s: %w", commit, bundle.Shown(at.URL), err)
	}
	files, err := bundle.Files(folder)
	if err != nil {
		return nil, bundle.Pin{}, fmt.Errorf("reading commit %s of %s: %w", commit, bundle.Shown(at.URL), err)
	}
	if alone {
		return files, bundle.Pin{Version: commit}, nil
	}
	dependencies, pin, err := c.chartsForDependencies(spec).Dependencies(ctx, files, ".",
		bundle.Pin{Dependencies: pin.Dependencies, Digest: pin.Digest})
	pin.Version = commit
	return append(files, dependencies...), pin, err
}

// below puts files into a folder.
func below(files []bundle.File, folder string) []bundle.File {
	moved := make([]bundle.File, len(files))
	for i, file := range files {
		moved[i] = bundle.File{Name: path.Join(folder, file.Name), Content: file.Content}
	}
	return moved
}
