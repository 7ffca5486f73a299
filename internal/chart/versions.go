package chart

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Version returns the newest version that a chart of a repository or registry allows.
//
// Errors: *FetchError, *UnknownRegistryError and *bundle.LocationError.
func (f *Fetcher) Version(ctx context.Context, chart bundle.Chart) (string, error) {
	at, err := chart.Location()
	if err != nil {
		return "", err
	}
	if ctx, err = f.access.admit(named(ctx, at.URL), at.URL, at.Name); err != nil {
		return "", err
	}
	switch at.Kind {
	case bundle.Repository:
		found, err := f.repositoryOnce(ctx, at.URL)
		if err != nil {
			return "", err
		}
		entry, err := found.find(at.Name, at.Version)
		if err != nil {
			return "", err
		}
		return entry.Version, nil
	case bundle.OCI:
		client, err := f.registries.client(ctx, at.URL)
		if err != nil {
			return "", err
		}
		exact, _, err := f.registries.version(ctx, client, at.Version)
		return exact, err
	case bundle.Archive, bundle.Git:
	}
	return "", hasNoVersions(at)
}

// Versions returns the versions of a chart of a repository or registry, the newest first, also
// those that the chart does not allow. Its errors are those of Version.
func (f *Fetcher) Versions(ctx context.Context, chart bundle.Chart) ([]string, error) {
	at, err := chart.Location()
	if err != nil {
		return nil, err
	}
	if ctx, err = f.access.admit(named(ctx, at.URL), at.URL, at.Name); err != nil {
		return nil, err
	}
	switch at.Kind {
	case bundle.Repository:
		found, err := f.repositoryOnce(ctx, at.URL)
		if err != nil {
			return nil, err
		}
		return found.versions(at.Name)
	case bundle.OCI:
		client, err := f.registries.client(ctx, at.URL)
		if err != nil {
			return nil, err
		}
		return f.registries.versions(ctx, client)
	case bundle.Archive, bundle.Git:
	}
	return nil, hasNoVersions(at)
}

func hasNoVersions(at bundle.Location) error {
	return &FetchError{
		URL: shown(at.URL), Reason: NotFound,
		Err: errors.New("only a chart of a Helm repository or an OCI registry has versions"),
	}
}

// versions returns the versions of a chart, the newest first.
func (r repository) versions(name string) ([]string, error) {
	entries := r.index.Entries[name]
	if len(entries) == 0 {
		return nil, &FetchError{URL: shown(r.url), Reason: NotFound, Err: fmt.Errorf("the repository has no chart %q", name)}
	}
	versions := make([]string, len(entries))
	for i, entry := range entries {
		versions[i] = entry.Version
	}
	return newestFirst(versions), nil
}

// NewestAllowed returns the first of versions, the newest first, that a constraint allows, "" if it
// allows none. Without a constraint, it is the first that is no pre-release.
func NewestAllowed(versions []string, constraint string) (string, error) {
	allowed, err := semver.NewConstraint(cmp.Or(constraint, "*"))
	if err != nil {
		return "", fmt.Errorf("%q is neither a version nor a range of versions", constraint)
	}
	for _, version := range versions {
		if parsed, err := semver.NewVersion(version); err == nil && allowed.Check(parsed) {
			return version, nil
		}
	}
	return "", nil
}

// IsStable reports whether a version is no pre-release.
func IsStable(version string) bool {
	parsed, err := semver.NewVersion(version)
	return err == nil && parsed.Prerelease() == ""
}
