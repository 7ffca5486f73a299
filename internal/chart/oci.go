package chart

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

const (
	// maxManifest is how many bytes the manifest of a chart in a registry may have.
	maxManifest = 4 << 20
	// tagsPerPage, maxTagPages and maxTags limit how many tags of a chart or image are read.
	tagsPerPage = 1000
	maxTagPages = 100
	maxTags     = 100_000
)

// registryClient is the client for one chart in a registry.
type registryClient struct {
	*remote.Repository
	at      fetch.Scope
	address string // Without tag.
	// reference is the tag or digest that the address names, "" for none.
	reference string
}

// registries are OCI registries, with what was fetched from them.
type registries struct {
	access *access
	reader archiveReader

	clients fetch.Cache[*registryClient] // By address.
	tags    fetch.Cache[[]string]        // By address.
	digests fetch.Cache[string]          // By address and tag.
	pulled  fetch.Cache[pulled]          // By address and tag or digest.
}

// client returns the client of an address, which is made once. The error is a *fetch.RefusedError if
// the address may not be fetched.
func (r *registries) client(ctx context.Context, address string) (*registryClient, error) {
	client, err := r.clients.Get(ctx, address, fetching, func(context.Context) (*registryClient, error) { return r.newClient(address) })
	if err != nil {
		return nil, err
	}
	_, err = r.access.boundary.Admit(ctx, client.at, "")
	return client, err
}

// key returns a key of a cache for what the client fetches.
func (r *registries) key(ctx context.Context, client *registryClient, reference string) string {
	return r.access.boundary.KeyFor(ctx, client.at, client.address+" "+reference)
}

// registryTransport sends the requests for one address.
type registryTransport struct {
	by       *account
	at       fetch.Scope
	boundary fetch.Boundary
}

// RoundTrip implements http.RoundTripper. Other servers that a registry refers to, such as storage, are
// trusted only if they are named themselves.
func (t registryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	to := fetch.ScopeOf(request.URL)
	trusted := t.boundary.Trusts(request.Context(), to) || to.Host == t.at.Host && t.boundary.Trusts(request.Context(), t.at)
	return t.by.send(request, trusted)
}

// newClient makes a client that logs in when the registry first requires a login.
func (r *registries) newClient(address string) (*registryClient, error) {
	made, err := remote.NewRepository(strings.TrimPrefix(address, ociScheme+"://"))
	if err != nil {
		return nil, &FetchError{URL: shown(address), Reason: Malformed, Err: errors.New("it is not the address of a chart in a registry")}
	}
	at := ociScope(made)
	by := r.access.of(at)
	made.PlainHTTP = by.registry.PlainHTTP
	made.TagListPageSize, made.TagListMaxPages = tagsPerPage, maxTagPages
	made.Client = &auth.Client{
		Client: &http.Client{Transport: registryTransport{by, at, r.access.boundary}, CheckRedirect: refuseDowngrade},
		Credential: func(ctx context.Context, host string) (auth.Credential, error) {
			as, err := by.login(ctx)
			if err != nil {
				return auth.EmptyCredential, err
			}
			// For this host and no other.
			return auth.StaticCredential(made.Reference.Registry, as.credential())(ctx, host)
		},
		Cache: auth.NewCache(),
	}
	client := &registryClient{Repository: made, at: at, reference: made.Reference.Reference}
	client.address = ociScheme + "://" + made.Reference.Registry + "/" + made.Reference.Repository
	return client, nil
}

func (l login) credential() auth.Credential {
	if l.token == "" {
		return auth.Credential{Username: l.username, Password: l.password, RefreshToken: l.identity}
	}
	// With a token, any user name is accepted.
	return auth.Credential{Username: cmp.Or(l.username, "token"), Password: cmp.Or(l.password, l.token), AccessToken: l.token}
}

func ociScope(of *remote.Repository) fetch.Scope {
	return fetch.ScopeOf(&url.URL{Scheme: ociScheme, Host: of.Reference.Registry, Path: "/" + of.Reference.Repository})
}

// chart returns the newest version of a chart that version allows. planned is the reference of an
// earlier fetch, "" for none. If the registry still has planned, that is fetched, even if the tag
// was moved. Otherwise the tag is used, because it may have the same files.
func (r *registries) chart(ctx context.Context, address, version, planned string) ([]bundle.File, bundle.Pin, error) {
	client, err := r.client(ctx, address)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	exact, tag, err := r.version(ctx, client, version)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	if planned != "" {
		found, err := r.pullOnce(ctx, client, planned)
		if !isNotFound(err) {
			return found.files, bundle.Pin{Version: exact, Reference: planned}, err
		}
	}
	found, err := r.pullOnce(ctx, client, tag)
	if isNotFound(err) && client.reference == "" {
		return nil, bundle.Pin{}, r.noTag(ctx, client, version, err)
	}
	return found.files, bundle.Pin{Version: exact, Reference: found.reference}, err
}

// pulled is a chart and the digest of its manifest.
type pulled struct {
	files     []bundle.File
	reference string
}

func (r *registries) pullOnce(ctx context.Context, client *registryClient, reference string) (pulled, error) {
	return r.pulled.Get(ctx, r.key(ctx, client, reference), fetching,
		func(ctx context.Context) (pulled, error) { return r.pull(ctx, client, reference) })
}

func isNotFound(err error) bool {
	failed, ok := errors.AsType[*FetchError](err)
	return ok && failed.Reason == NotFound
}

// version returns the exact version that version allows, and its tag or digest in the registry.
// For an exact version, no tags are listed: not every user may list them.
func (r *registries) version(ctx context.Context, client *registryClient, version string) (exact, reference string, err error) {
	if client.reference != "" {
		exact = cmp.Or(version, versionOf(client.reference))
		if isDigest := strings.Contains(client.reference, ":"); !isDigest && tagOf(exact) != client.reference {
			return "", "", &FetchError{
				URL: client.address, Reason: NotFound,
				Err: fmt.Errorf("version %q was requested, and the address contains %q", version, client.reference),
			}
		}
		return exact, client.reference, nil
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return version, tagOf(version), nil
	}
	if err := checkConstraint(client.address, version); err != nil {
		return "", "", err
	}
	versions, err := r.versions(ctx, client)
	if err != nil {
		return "", "", err
	}
	exact, err = registry.GetTagMatchingVersionOrConstraint(versions, version)
	if err != nil {
		return "", "", noVersion(client.address, "the chart", version, versions)
	}
	return exact, tagOf(exact), nil
}

// tagOf writes a version as a tag, which cannot contain "+"; versionOf reads the tag.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// versions returns the versions of a chart, the newest first.
func (r *registries) versions(ctx context.Context, client *registryClient) ([]string, error) {
	tags, err := r.tagsOf(ctx, client)
	if err != nil {
		return nil, err
	}
	versions := make([]string, len(tags))
	for i, tag := range tags {
		versions[i] = versionOf(tag)
	}
	return newestFirst(versions), nil
}

// tagsOf lists all tags of an address, once for all callers.
func (r *registries) tagsOf(ctx context.Context, client *registryClient) ([]string, error) {
	return r.tags.Get(ctx, r.key(ctx, client, ""), "listing tags", func(ctx context.Context) ([]string, error) {
		var tags []string
		err := client.Tags(ctx, "", func(page []string) error {
			if tags = append(tags, page...); len(tags) > maxTags {
				return &FetchError{URL: client.address, Reason: TooLarge, Err: fmt.Errorf("it has more than %d tags", maxTags)}
			}
			return nil
		})
		if err != nil {
			return nil, explain(client.address, err)
		}
		return tags, nil
	})
}

// noTag returns an error that names the available versions, or failed if they cannot be listed.
func (r *registries) noTag(ctx context.Context, client *registryClient, version string, failed error) error {
	versions, err := r.versions(ctx, client)
	if err != nil {
		return failed
	}
	return noVersion(client.address, "the chart", version, versions)
}

// pull downloads a chart.
func (r *registries) pull(ctx context.Context, client *registryClient, reference string) (pulled, error) {
	manifest, layer, err := client.layer(ctx, reference)
	if err != nil {
		return pulled{}, explain(client.address, err)
	}
	if layer.Size > maxArchive {
		return pulled{}, &FetchError{URL: client.address, Reason: TooLarge, Err: fmt.Errorf("more than %d MiB", maxArchive>>20)}
	}
	body, err := client.Fetch(ctx, layer)
	if err != nil {
		return pulled{}, explain(client.address, err)
	}
	defer func() { _ = body.Close() }()
	saved, err := save(client.address, body, layer.Size, newChecksum(layer.Digest.String()))
	if err != nil {
		return pulled{}, err
	}
	files, err := r.reader.read(ctx, saved, bundle.Location{URL: client.address, Format: "tar.gz"})
	return pulled{files: files, reference: manifest.Digest.String()}, err
}

// layer returns the descriptors of a manifest, and of its layer with the chart.
func (c *registryClient) layer(ctx context.Context, reference string) (described, layer ocispec.Descriptor, err error) {
	described, reader, err := c.FetchReference(ctx, reference)
	if err != nil {
		return described, ocispec.Descriptor{}, err
	}
	defer func() { _ = reader.Close() }()
	if described.Size > maxManifest {
		return described, ocispec.Descriptor{}, &FetchError{
			URL: c.address, Reason: TooLarge,
			Err: fmt.Errorf("its manifest is larger than %d MiB", maxManifest>>20),
		}
	}
	document, err := content.ReadAll(io.LimitReader(reader, maxManifest), described)
	if errors.Is(err, content.ErrMismatchedDigest) {
		return described, ocispec.Descriptor{}, &FetchError{
			URL: c.address, Reason: Mismatch,
			Err: errors.New("the digest of its manifest differs from the one that the registry returned"),
		}
	}
	if err != nil {
		return described, ocispec.Descriptor{}, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(document, &manifest); err != nil {
		return described, ocispec.Descriptor{}, &FetchError{URL: c.address, Reason: Malformed, Err: fmt.Errorf("reading its manifest: %w", err)}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == registry.ChartLayerMediaType || layer.MediaType == registry.LegacyChartLayerMediaType {
			return described, layer, layer.Digest.Validate()
		}
	}
	return described, ocispec.Descriptor{}, &FetchError{URL: c.address, Reason: Malformed, Err: errors.New("it contains no Helm chart")}
}
