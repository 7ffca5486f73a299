package helm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Registry says how to reach a Helm repository, an OCI registry or a server with
// archives.
type Registry struct {
	Username, Password string
	// Token is sent as a bearer token, instead of user name and password.
	Token string
	// CABundle are certificates in PEM that are trusted besides the machine's own.
	CABundle []byte
	// Insecure accepts any certificate, PlainHTTP speaks HTTP to an OCI registry.
	Insecure, PlainHTTP bool
}

// FetchConfig configures a Fetcher.
type FetchConfig struct {
	// Registries by the beginning of a URL. The longest one that ends where a part of
	// the path ends counts; what it holds is sent nowhere else.
	Registries map[string]Registry
	// StallTimeout is how long nothing may arrive; 0 is half a minute.
	StallTimeout time.Duration
}

// Fetcher fetches charts, each once. It is safe for concurrent use.
type Fetcher struct {
	http    *downloader
	fetches singleflight.Group

	mu      sync.Mutex
	charts  map[string]fetched         // By address, version and pin.
	indexes map[string]*repo.IndexFile // By the URL of a repository.
}

// fetched is a chart and what it was found to be.
type fetched struct {
	files []bundle.File
	pin   bundle.Pin
}

// NewFetcher makes a Fetcher. The error says which certificates cannot be read.
func NewFetcher(config FetchConfig) (*Fetcher, error) {
	downloads, err := newDownloader(config.Registries, cmp.Or(config.StallTimeout, defaultStall))
	if err != nil {
		return nil, err
	}
	return &Fetcher{http: downloads, charts: map[string]fetched{}, indexes: map[string]*repo.IndexFile{}}, nil
}

const defaultStall = 30 * time.Second

// Fetch answers the files of a chart that is in a Helm repository, a registry or
// an archive, relative to its folder and sorted by name, with those of the charts
// it depends on, and what it was found to be. An empty pin takes the newest
// version that the chart allows; any other must be met.
//
// Errors: *FetchError, *ArchiveError, *bundle.LocationError.
func (f *Fetcher) Fetch(ctx context.Context, chart bundle.Chart, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
	at, err := chart.Location()
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	key := fmt.Sprintf("%+v %s %s %v", at, pin.Version, pin.Digest, pin.Dependencies)
	found, err := f.once(ctx, key, func() (fetched, error) { return f.fetch(ctx, at, pin) })
	return found.files, found.pin, err
}

// once runs a fetch for all who ask for the same, until it has worked.
func (f *Fetcher) once(ctx context.Context, key string, fetch func() (fetched, error)) (fetched, error) {
	for {
		f.mu.Lock()
		known, ok := f.charts[key]
		f.mu.Unlock()
		if ok {
			return known, nil
		}
		running := f.fetches.DoChan(key, func() (any, error) {
			found, err := fetch()
			if err != nil {
				return nil, err
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.charts[key] = found
			return found, nil
		})
		select {
		case <-ctx.Done():
			return fetched{}, fmt.Errorf("fetching a chart: %w", context.Cause(ctx))
		case result := <-running:
			// When the first who asked gives up, the next one takes over.
			if result.Err != nil && (ctx.Err() != nil || !errors.Is(result.Err, context.Canceled)) {
				return fetched{}, result.Err
			}
		}
	}
}

func (f *Fetcher) fetch(ctx context.Context, at bundle.Location, pin bundle.Pin) (fetched, error) {
	archive, version, err := f.download(ctx, at, pin.Version)
	if err != nil {
		return fetched{}, err
	}
	files, err := extract(archive, at.Format, at.Subdirectory)
	if err != nil {
		return fetched{}, &FetchError{URL: at.URL, Reason: Malformed, Err: err}
	}
	added, found, err := f.Dependencies(ctx, files, ".", pin)
	if err != nil {
		return fetched{}, err
	}
	files = append(files, added...)
	slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	found.Version, found.Digest = version, digestOf(files)
	if pin.Digest != "" && pin.Digest != found.Digest {
		return fetched{}, &FetchError{URL: at.URL, Reason: Changed, Err: errors.New(
			"version " + cmp.Or(version, "(none)") + " holds other files than when it was first fetched")}
	}
	return fetched{files: files, pin: found}, nil
}

// download answers the archive of a chart and its exact version, "" if it has
// none. version is the pinned one, "" to take what the location allows.
func (f *Fetcher) download(ctx context.Context, at bundle.Location, version string) (archive []byte, exact string, err error) {
	switch at.Kind {
	case bundle.Repository:
		return f.fromRepository(ctx, at, version)
	case bundle.OCI:
		return f.fromRegistry(ctx, at, version)
	case bundle.Archive:
		archive, err = f.http.get(ctx, at.URL, maxArchive)
		if err == nil {
			err = verify(at.URL, archive, at.Checksum)
		}
		return archive, "", err
	case bundle.Git:
	}
	return nil, "", &FetchError{URL: at.URL, Reason: Malformed, Err: errors.New("a git repository is not fetched this way")}
}

// fromRepository downloads the newest version of a chart that is asked for.
func (f *Fetcher) fromRepository(ctx context.Context, at bundle.Location, version string) ([]byte, string, error) {
	index, err := f.index(ctx, at.URL)
	if err != nil {
		return nil, "", err
	}
	entry, err := index.Get(at.Name, cmp.Or(version, at.Version))
	if err != nil {
		return nil, "", notInIndex(at, cmp.Or(version, at.Version), index)
	}
	if len(entry.URLs) == 0 {
		return nil, "", &FetchError{URL: at.URL, Reason: Malformed, Err: fmt.Errorf("the index names no archive of %s %s", at.Name, entry.Version)}
	}
	address, err := repo.ResolveReferenceURL(at.URL, entry.URLs[0])
	if err != nil {
		return nil, "", &FetchError{URL: at.URL, Reason: Malformed, Err: err}
	}
	if strings.HasPrefix(address, "oci://") {
		archive, _, err := f.fromRegistry(ctx, bundle.Location{URL: address}, entry.Version)
		return archive, entry.Version, err
	}
	archive, err := f.http.get(ctx, address, maxArchive)
	if err != nil {
		return nil, "", err
	}
	sum := ""
	if entry.Digest != "" {
		sum = "sha256:" + strings.TrimPrefix(entry.Digest, "sha256:")
	}
	return archive, entry.Version, verify(address, archive, sum)
}

// notInIndex says what there is instead.
func notInIndex(at bundle.Location, version string, index *repo.IndexFile) error {
	entries := index.Entries[at.Name]
	if len(entries) == 0 {
		return &FetchError{URL: at.URL, Reason: NotFound, Err: fmt.Errorf("the repository has no chart %q", at.Name)}
	}
	versions := make([]string, len(entries))
	for i, entry := range entries {
		versions[i] = entry.Version
	}
	return &FetchError{URL: at.URL, Reason: NotFound, Err: fmt.Errorf("chart %q has no version %q, but %s", at.Name, version, listed(versions))}
}

// listed names the first few of many.
func listed(versions []string) string {
	const most = 10
	if len(versions) > most {
		return strings.Join(versions[:most], ", ") + " and others"
	}
	return strings.Join(versions, ", ")
}

// index reads the index of a repository, once.
func (f *Fetcher) index(ctx context.Context, url string) (*repo.IndexFile, error) {
	f.mu.Lock()
	known, ok := f.indexes[url]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	address := url + "/index.yaml"
	data, err := f.http.get(ctx, address, maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := readIndex(data)
	if err != nil {
		return nil, &FetchError{URL: address, Reason: Malformed, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.indexes[url] = index
	return index, nil
}

// Close forgets what was fetched.
func (f *Fetcher) Close() error {
	f.http.close()
	return nil
}

// digestOf covers names and contents of files, which are sorted.
func digestOf(files []bundle.File) string {
	sum := sha256.New()
	for _, file := range files {
		fmt.Fprintf(sum, "%d %s %d ", len(file.Name), file.Name, len(file.Content))
		sum.Write(file.Content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
