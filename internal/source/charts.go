package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Charts fetches Helm charts that are kept elsewhere than in their bundle.
type Charts interface {
	// Fetch returns the files of a chart, relative to its folder, and what it was
	// found to be. An empty pin leaves that open; any other must be met.
	Fetch(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
	// FetchAlone is Fetch without the charts that the chart depends on.
	FetchAlone(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
	// Version returns the newest version that a chart allows.
	Version(ctx context.Context, chart bundle.Chart) (string, error)
	// Dependencies returns what the chart in a folder of files depends on and the
	// files lack, as files beside them.
	Dependencies(ctx context.Context, files []bundle.File, folder string, pin bundle.Pin) ([]bundle.File, bundle.Pin, error)
}

// Pinned is what was found of a chart kept elsewhere, or of the dependencies of
// a chart in the bundle.
type Pinned struct {
	// Chart is the zero value for dependencies.
	Chart bundle.Chart `json:"chart,omitzero"`
	// Folder of the chart in the bundle that the dependencies belong to.
	Folder string     `json:"folder,omitempty"`
	Pin    bundle.Pin `json:"pin"`
}

// Pins are what an earlier reading found, by the name of the bundle.
type Pins map[string][]Pinned

// PinsOf reads what a descriptor pins.
func PinsOf(descriptor string) ([]Pinned, error) {
	d, err := Decode(descriptor)
	return d.Charts, err
}

// whole is a bundle with all its charts, and what they were found to be.
type whole struct {
	bundle *bundle.Bundle
	found  []Pinned
	// pinned says that everything was found before.
	pinned bool
}

// chartSources are where charts of bundles are kept.
type chartSources struct {
	git    Git
	charts Charts
	public Charts // Without credentials.
}

// complete fetches what a bundle needs besides its own files. What pins name is
// found to be the same again, or is an error.
func (c chartSources) complete(ctx context.Context, spec Spec, b *bundle.Bundle, pins []Pinned) (whole, error) {
	made := whole{bundle: b, pinned: true}
	if len(b.Wanted()) == 0 && len(b.Unmet()) == 0 {
		return made, nil
	}
	if c.charts == nil {
		return whole{}, errNoCharts
	}
	var added []bundle.File
	for _, chart := range b.Wanted() {
		known, ok := find(pins, func(p Pinned) bool { return p.Folder == "" && p.Chart == chart })
		alone := b.Definition.Helm != nil && b.Definition.Helm.DisableDependencyUpdate
		files, pin, err := c.fetchChart(ctx, spec, chart, known.Pin, alone)
		if err != nil {
			return whole{}, fmt.Errorf("fetching the chart of bundle %s: %w", b.Name, err)
		}
		made.found = append(made.found, Pinned{Chart: chart, Pin: pin})
		made.pinned = made.pinned && ok
		added = append(added, below(files, chart.Directory())...)
	}
	for _, folder := range b.Unmet() {
		known, ok := find(pins, func(p Pinned) bool { return p.Folder == folder })
		files, pin, err := c.chartsForDependencies(spec).Dependencies(ctx, b.Files, folder, known.Pin)
		if err != nil {
			return whole{}, fmt.Errorf("fetching the dependencies of chart %s of bundle %s: %w", folder, b.Name, err)
		}
		made.found = append(made.found, Pinned{Folder: folder, Pin: pin})
		// A pin of other dependencies than Chart.yaml names by now was of no use.
		made.pinned = made.pinned && ok && maps.Equal(pin.Dependencies, known.Pin.Dependencies)
		added = append(added, files...)
	}
	complete, err := b.Add(added)
	if err != nil {
		return whole{}, fmt.Errorf("building bundle %s: %w", b.Name, err)
	}
	made.bundle = &complete
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

// chartsFor returns the fetcher of charts: with credentials, unless the Spec limits
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

// allowsCredentials reports whether credentials are used for an address. As in Fleet the expression is
// matched from the beginning on (internal/bundlereader/resources.go).
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

// chartsForDependencies fetches without credentials where the Spec limits them: what
// a chart depends on may be kept anywhere.
func (c chartSources) chartsForDependencies(spec Spec) Charts {
	if spec.HelmRepoURLRegex != "" {
		return c.public
	}
	return c.charts
}

// fetchChart reads a chart from wherever it is kept, with those it depends on
// unless it is to stay alone.
func (c chartSources) fetchChart(ctx context.Context, spec Spec, chart bundle.Chart, pin bundle.Pin, alone bool) ([]bundle.File, bundle.Pin, error) {
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

// fetchLimited fetches a chart with its credentials and what it depends on without.
func (c chartSources) fetchLimited(ctx context.Context, charts Charts, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
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

func (c chartSources) fetchFromGit(ctx context.Context, spec Spec, at bundle.Location, pin bundle.Pin, alone bool) ([]bundle.File, bundle.Pin, error) {
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
	dependencies, pin, err := c.chartsForDependencies(spec).Dependencies(ctx, files, ".", bundle.Pin{Dependencies: pin.Dependencies, Digest: pin.Digest})
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
