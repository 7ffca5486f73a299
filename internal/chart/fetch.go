// Package chart fetches Helm charts from repositories, registries and archives, with their
// dependencies, and unpacks them within limits. It needs no cluster.
package chart

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// FetchConfig configures a Fetcher.
type FetchConfig struct {
	// Registries by the prefix of a URL: https://, http:// or oci://, a host and optionally a
	// path. A prefix matches at the end of a path segment only. The longest matching prefix is
	// used, and its credentials are sent nowhere else.
	Registries map[string]Registry
	// RegistriesUnknown is true if Registries is not known yet.
	RegistriesUnknown bool
	// Boundary is what charts and their dependencies may reach.
	Boundary fetch.Boundary
	// Trust defines which certificates of servers and proxies are trusted.
	Trust fetch.Trust
	// AddSecret gets the secrets that commands of registries print. It may be nil.
	AddSecret func(secrets ...string)
	// StallTimeout is how long nothing may arrive; 0 is half a minute.
	StallTimeout time.Duration
}

// Fetcher fetches charts. It keeps fetched charts as long as it exists. A failed fetch is tried
// again, except in an operation of fetch.RememberFailures. A Fetcher is safe for concurrent use.
type Fetcher struct {
	access     *access
	client     *http.Client
	reader     archiveReader
	registries *registries

	charts       fetch.Cache[fetched]       // By address, version and pin.
	archives     fetch.Cache[[]bundle.File] // By URL.
	repositories fetch.Cache[repository]    // By URL.
}

// fetched is a chart and its pin.
type fetched struct {
	files []bundle.File
	pin   bundle.Pin
}

const (
	fetching     = "fetching a chart"
	defaultStall = 30 * time.Second
	readAtOnce   = 2
)

// NewFetcher makes a Fetcher. The error is a *RegistryError.
func NewFetcher(config FetchConfig) (*Fetcher, error) {
	made, err := newAccess(config, cmp.Or(config.StallTimeout, defaultStall))
	if err != nil {
		return nil, err
	}
	reader := archiveReader{reading: make(chan struct{}, readAtOnce)}
	return &Fetcher{
		access:     made,
		client:     &http.Client{Transport: made, CheckRedirect: refuseDowngrade},
		reader:     reader,
		registries: &registries{access: made, reader: reader},
	}, nil
}

// Close ends idle connections.
func (f *Fetcher) Close() error {
	f.access.close()
	return nil
}

// Fetch returns the files and the pin of a chart in a Helm repository, a registry or an archive.
// The files are relative to the folder of the chart and sorted by name. They include the files of
// its dependencies. With an empty pin, the newest version that the chart allows is fetched; any
// other pin must be met.
//
// If ctx has a fetch.Reach, the content of a source names the chart, and otherwise the configuration
// does. A chart names its dependencies.
//
// Errors: *FetchError, which may wrap an *ArchiveError, *fetch.RefusedError and *bundle.LocationError.
func (f *Fetcher) Fetch(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
	return f.fetchOnce(ctx, chart, pin, true)
}

// FetchAlone is Fetch without the dependencies of the chart, except those that are packed with
// it.
func (f *Fetcher) FetchAlone(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
	return f.fetchOnce(ctx, chart, pin, false)
}

func (f *Fetcher) fetchOnce(ctx context.Context, chart bundle.Chart, pin bundle.Pin, dependencies bool) ([]bundle.File, bundle.Pin, error) {
	at, err := chart.Location()
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	if ctx, err = f.access.admit(named(ctx, at.URL), at.URL, at.Name); err != nil {
		return nil, bundle.Pin{}, err
	}
	key := fmt.Sprintf("%q", []any{at, pin.Version, pin.Reference, pin.Digest, pin.Dependencies, dependencies}) // Maps are printed sorted.
	key = f.access.boundary.KeyFor(ctx, scopeOf(at.URL), key)
	found, err := f.charts.Get(ctx, key, fetching, func(ctx context.Context) (fetched, error) { return f.fetch(ctx, at, pin, dependencies) })
	// Each caller may add to its own result.
	found.pin.Dependencies = maps.Clone(found.pin.Dependencies)
	return slices.Clip(found.files), found.pin, err
}

// named returns a context in which the configuration gives an address, unless a source does.
func named(ctx context.Context, address string) context.Context {
	return fetch.Naming(ctx, scopeOf(address))
}

// scopeOf returns the scope of an address that was checked before. A tag at its end is left out.
func scopeOf(address string) fetch.Scope {
	parsed, err := url.Parse(address)
	if err != nil {
		return fetch.Scope{}
	}
	if parsed.Scheme == ociScheme {
		if made, err := remote.NewRepository(strings.TrimPrefix(address, ociScheme+"://")); err == nil {
			return ociScope(made)
		}
	}
	return fetch.ScopeOf(parsed)
}

func (f *Fetcher) fetch(ctx context.Context, at bundle.Location, pin bundle.Pin, dependencies bool) (fetched, error) {
	files, found, err := f.files(ctx, at, pin)
	if err != nil {
		return fetched{}, err
	}
	if dependencies {
		var added []bundle.File
		if added, found.Dependencies, err = f.allDependencies(ctx, files, pin); err != nil {
			return fetched{}, err
		}
		files = slices.Concat(files, added)
		slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	}
	found.Digest = digestOf(files)
	if pin.Digest != "" && pin.Digest != found.Digest {
		return fetched{}, changed(shown(at.URL), found.Version, pin.Digest, found.Digest)
	}
	return fetched{files: files, pin: found}, nil
}

// changed returns an error for content with other files than at the first fetch.
func changed(what, version, planned, found string) error {
	which := "it was"
	if version != "" {
		which = "version " + version + " was"
	}
	const enough = 12 // Enough of a digest to distinguish two.
	return &FetchError{URL: what, Reason: Changed, Err: fmt.Errorf(
		"%s fetched with digest %.*s when it was planned, and has digest %.*s now; it was published again with other files",
		which, enough, planned, enough, found)}
}

// files returns the files of a chart without its dependencies, its exact version, if it has one,
// and its reference. pin is the earlier result, or empty for the newest version that the location
// allows.
func (f *Fetcher) files(ctx context.Context, at bundle.Location, pin bundle.Pin) (files []bundle.File, found bundle.Pin, err error) {
	switch at.Kind {
	case bundle.Repository:
		files, found.Version, err = f.fromRepository(ctx, at.URL, at.Name, cmp.Or(pin.Version, at.Version))
		return files, found, err
	case bundle.OCI:
		return f.registries.chart(ctx, at.URL, cmp.Or(pin.Version, at.Version), pin.Reference)
	case bundle.Archive:
		files, err = f.fromArchive(ctx, at)
		return files, bundle.Pin{}, err
	case bundle.Git:
	}
	return nil, bundle.Pin{}, &FetchError{
		URL: shown(at.URL), Reason: Malformed,
		Err: errors.New("git repositories are not fetched as archives"),
	}
}

// fromArchive downloads an archive and unpacks the chart in it.
func (f *Fetcher) fromArchive(ctx context.Context, at bundle.Location) ([]bundle.File, error) {
	key := fmt.Sprintf("%q", []any{at.URL, at.Subdirectory, at.Checksum, at.Format})
	key = f.access.boundary.KeyFor(ctx, scopeOf(at.URL), key)
	return f.archives.Get(ctx, key, fetching, func(ctx context.Context) ([]bundle.File, error) {
		saved, err := f.get(ctx, at.URL, maxArchive, newChecksum(at.Checksum))
		if err != nil {
			return nil, err
		}
		return f.reader.read(ctx, saved, at)
	})
}

// digestOf returns a digest of the names and contents of sorted files.
func digestOf(files []bundle.File) string {
	sum := sha256.New()
	for _, file := range files {
		fmt.Fprintf(sum, "%d %s %d ", len(file.Name), file.Name, len(file.Content))
		sum.Write(file.Content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
