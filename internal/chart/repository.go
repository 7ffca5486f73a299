package chart

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// repository is a Helm repository and its index.
type repository struct {
	url   string
	index *repo.IndexFile
}

// fromRepository returns the newest version of a chart that version allows.
func (f *Fetcher) fromRepository(ctx context.Context, address, name, version string) ([]bundle.File, string, error) {
	found, err := f.repositoryOnce(ctx, address)
	if err != nil {
		return nil, "", err
	}
	entry, err := found.find(name, version)
	if err != nil {
		return nil, "", err
	}
	archive, err := found.archive(entry)
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(archive.URL, "oci://") {
		files, _, err := f.registries.chart(ctx, archive.URL, entry.Version, "")
		return files, entry.Version, err
	}
	files, err := f.fromArchive(ctx, archive)
	return files, entry.Version, err
}

// repositoryOnce reads an index once for all callers.
func (f *Fetcher) repositoryOnce(ctx context.Context, address string) (repository, error) {
	return f.repositories.Get(ctx, f.access.boundary.KeyFor(ctx, scopeOf(address), address),
		fetching, func(ctx context.Context) (repository, error) { return f.repository(ctx, address) })
}

// repository reads an index.
func (f *Fetcher) repository(ctx context.Context, address string) (repository, error) {
	location, err := url.Parse(address)
	if err != nil {
		return repository{}, &FetchError{URL: shown(address), Reason: Malformed, Err: errors.New("it is not a valid URL")}
	}
	at := location.JoinPath("index.yaml").String()
	saved, err := f.get(ctx, at, maxIndex, newChecksum(""))
	if err != nil {
		return repository{}, err
	}
	defer func() { _ = saved.Close() }()
	done, err := f.reader.begin(ctx, at)
	if err != nil {
		return repository{}, err
	}
	defer done()
	index, err := readIndex(saved.Name())
	if err != nil {
		return repository{}, &FetchError{URL: shown(at), Reason: Malformed, Err: fmt.Errorf("it is not the index of a Helm repository: %w", err)}
	}
	return repository{url: address, index: index}, nil
}

// readIndex reads an index.yaml. It keeps only the data that is needed to fetch a chart, because
// large indexes describe thousands of charts.
func readIndex(name string) (*repo.IndexFile, error) {
	index, err := repo.LoadIndexFile(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	slim := repo.NewIndexFile()
	for name, versions := range index.Entries {
		for _, version := range versions {
			slim.Entries[name] = append(slim.Entries[name], &repo.ChartVersion{
				Metadata: &chart.Metadata{Name: version.Name, Version: version.Version},
				URLs:     version.URLs, Digest: version.Digest,
			})
		}
	}
	return slim, nil
}

// withoutPath removes the path of the temporary file, with which an error of Helm begins.
func withoutPath(err error) error {
	if cause, ok := errors.AsType[*os.PathError](err); ok {
		return cause.Err
	}
	for range 2 { // The message with the path, and its place in Helm's code.
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
	}
	return err
}

// find returns the newest version of a chart that version allows.
func (r repository) find(name, version string) (*repo.ChartVersion, error) {
	versions, err := r.versions(name)
	if err != nil {
		return nil, err
	}
	if err := checkConstraint(r.url, version); err != nil {
		return nil, err
	}
	entry, err := r.index.Get(name, version)
	if err != nil {
		return nil, noVersion(r.url, fmt.Sprintf("chart %q", name), version, versions)
	}
	return entry, nil
}

// checkConstraint returns an error for text that is neither a version nor a range of versions.
func checkConstraint(address, version string) error {
	if version == "" {
		return nil
	}
	if _, err := semver.NewConstraint(version); err != nil {
		return &FetchError{URL: shown(address), Reason: NotFound, Err: fmt.Errorf("%q is neither a version nor a range of versions", version)}
	}
	return nil
}

// noVersion returns an error that names the available versions.
func noVersion(address, what, version string, versions []string) error {
	wanted := fmt.Sprintf("no version %q", version)
	if version == "" {
		wanted = "no stable version"
	}
	if len(versions) == 0 {
		return &FetchError{URL: shown(address), Reason: NotFound, Err: fmt.Errorf("%s has %s, and no other versions", what, wanted)}
	}
	const most = 10
	listed := strings.Join(versions[:min(most, len(versions))], ", ")
	if len(versions) > most {
		listed += " and others"
	}
	return &FetchError{URL: shown(address), Reason: NotFound, Err: fmt.Errorf("%s has %s; available: %s", what, wanted, listed)}
}

// archive returns the location of a version.
func (r repository) archive(entry *repo.ChartVersion) (bundle.Location, error) {
	if len(entry.URLs) == 0 {
		return bundle.Location{}, &FetchError{
			URL: shown(r.url), Reason: Malformed,
			Err: fmt.Errorf("the index contains no archive URL for %s %s", entry.Name, entry.Version),
		}
	}
	address, err := repo.ResolveReferenceURL(r.url, entry.URLs[0])
	if err != nil {
		return bundle.Location{}, &FetchError{
			URL: shown(r.url), Reason: Malformed,
			Err: fmt.Errorf("the archive URL of %s %s is not valid", entry.Name, entry.Version),
		}
	}
	at := bundle.Location{Kind: bundle.Archive, URL: address, Format: "tar.gz"}
	if entry.Digest != "" {
		at.Checksum = "sha256:" + strings.TrimPrefix(entry.Digest, "sha256:")
	}
	return at, nil
}

// newestFirst sorts versions, and leaves out texts that are no version.
func newestFirst(texts []string) []string {
	versions := make([]*semver.Version, 0, len(texts))
	for _, text := range texts {
		if version, err := semver.NewVersion(text); err == nil {
			versions = append(versions, version)
		}
	}
	slices.SortFunc(versions, func(a, b *semver.Version) int { return b.Compare(a) })
	sorted := make([]string, len(versions))
	for i, version := range versions {
		sorted[i] = version.Original()
	}
	return sorted
}
