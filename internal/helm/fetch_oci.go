package helm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// maxManifest bounds in bytes the manifest of a chart in a registry.
const maxManifest = 4 << 20

// fromRegistry downloads the newest version of a chart that is asked for.
func (f *Fetcher) fromRegistry(ctx context.Context, at bundle.Location, version string) ([]byte, string, error) {
	ctx, watch := watching(ctx, f.http.stall)
	defer watch.stop()
	archive, exact, err := f.pull(ctx, at, cmp.Or(version, at.Version), watch)
	if err == nil {
		return archive, exact, nil
	}
	failed, ok := errors.AsType[*FetchError](err)
	if !ok {
		failed = &FetchError{URL: at.URL, Reason: reasonOfRegistry(ctx, err), Err: withoutURL(err)}
	}
	if failed.Reason == Stalled {
		failed.Err = fmt.Errorf("nothing arrived for %s", f.http.stall)
	}
	return nil, "", failed
}

func (f *Fetcher) pull(ctx context.Context, at bundle.Location, version string, watch *stallWatch) ([]byte, string, error) {
	repository, err := f.repository(at.URL)
	if err != nil {
		return nil, "", &FetchError{URL: at.URL, Reason: Malformed, Err: err}
	}
	tag, err := findTag(ctx, repository, version)
	if err != nil {
		return nil, "", err
	}
	described, reader, err := repository.FetchReference(ctx, tag)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = reader.Close() }()
	data, err := content.ReadAll(io.LimitReader(reader, maxManifest), described)
	if err != nil {
		return nil, "", err
	}
	layer, err := chartLayer(at.URL, data)
	if err != nil {
		return nil, "", err
	}
	body, err := repository.Fetch(ctx, layer)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = body.Close() }()
	archive, err := readAll(at.URL, body, maxArchive, watch)
	if err != nil {
		return nil, "", err
	}
	if int64(len(archive)) != layer.Size {
		return nil, "", io.ErrUnexpectedEOF
	}
	// In a tag "+" is "_", which no version holds.
	return archive, strings.ReplaceAll(tag, "_", "+"), verify(at.URL, archive, layer.Digest.String())
}

// repository makes a client of the place of one chart.
func (f *Fetcher) repository(address string) (*remote.Repository, error) {
	own := f.http.registryOf(address)
	repository, err := remote.NewRepository(strings.TrimPrefix(address, "oci://"))
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = own.registry.PlainHTTP
	credential := auth.Credential{Username: own.registry.Username, Password: own.registry.Password, AccessToken: own.registry.Token}
	repository.Client = &auth.Client{
		Client: &http.Client{Transport: own.transport},
		// For this host and no other.
		Credential: auth.StaticCredential(repository.Reference.Registry, credential),
		Cache:      auth.NewCache(),
	}
	return repository, nil
}

// findTag answers the tag of the newest version that is asked for.
func findTag(ctx context.Context, repository *remote.Repository, version string) (string, error) {
	var tags []string
	err := repository.Tags(ctx, "", func(page []string) error {
		for _, tag := range page {
			tags = append(tags, strings.ReplaceAll(tag, "_", "+"))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	newestFirst(tags)
	found, err := registry.GetTagMatchingVersionOrConstraint(tags, version)
	if err != nil {
		return "", &FetchError{URL: ociAddress(repository), Reason: NotFound, Err: fmt.Errorf("there is no version %q, but %s", version, listed(tags))}
	}
	return strings.ReplaceAll(found, "+", "_"), nil
}

func ociAddress(repository *remote.Repository) string {
	return "oci://" + repository.Reference.Registry + "/" + repository.Reference.Repository
}

// chartLayer finds the chart in a manifest.
func chartLayer(url string, data []byte) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return ocispec.Descriptor{}, &FetchError{URL: url, Reason: Malformed, Err: fmt.Errorf("reading its manifest: %w", err)}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == registry.ChartLayerMediaType || layer.MediaType == registry.LegacyChartLayerMediaType {
			return layer, nil
		}
	}
	return ocispec.Descriptor{}, &FetchError{URL: url, Reason: Malformed, Err: errors.New("it holds no Helm chart")}
}

func reasonOfRegistry(ctx context.Context, err error) Reason {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return reasonOfStatus(answer.StatusCode)
	}
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return NotFound
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return Unauthorized
	}
	return reasonOf(ctx, err)
}
