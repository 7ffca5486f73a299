package chart

import (
	"context"
	"slices"
)

// Tags returns the tags of an image, or of another artifact in a registry, in any order. address
// has no tag: oci://ghcr.io/acme/web.
//
// Errors: *FetchError, *UnknownRegistryError, *fetch.RefusedError.
func (f *Fetcher) Tags(ctx context.Context, address string) ([]string, error) {
	ctx = named(ctx, address)
	client, err := f.registries.client(ctx, address)
	if err != nil {
		return nil, err
	}
	tags, err := f.registries.tagsOf(ctx, client)
	return slices.Clone(tags), err
}

// Digest returns the digest that a tag points to: that of an index if there are images for
// several platforms.
//
// Errors: *FetchError, *UnknownRegistryError.
func (f *Fetcher) Digest(ctx context.Context, address, tag string) (string, error) {
	ctx = named(ctx, address)
	client, err := f.registries.client(ctx, address)
	if err != nil {
		return "", err
	}
	return f.registries.digests.Get(ctx, f.registries.key(ctx, client, tag), "looking up a tag", func(ctx context.Context) (string, error) {
		described, err := client.Resolve(ctx, tag)
		if err != nil {
			return "", explain(client.address, err)
		}
		return described.Digest.String(), nil
	})
}
