package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	digest "github.com/opencontainers/go-digest"
)

// Registry reads the tags and digests of images in registries. An address is the address of an
// image without its tag, such as oci://ghcr.io/acme/web.
type Registry interface {
	// Tags returns all tags, in any order.
	Tags(ctx context.Context, address string) ([]string, error)
	// Digest returns the digest that a tag refers to.
	Digest(ctx context.Context, address, tag string) (string, error)
}

// Tag is a tag of an image that was found.
type Tag struct {
	// Image is the name of the image with its registry, as Fleet writes it, such as
	// index.docker.io/library/nginx for nginx.
	Image string `json:"image"`
	Tag   string `json:"tag"`
	// Digest is the digest of the index if there are images for several platforms.
	Digest string `json:"digest"`
}

// Reference returns the image with its tag.
func (t Tag) Reference() string { return t.Image + ":" + t.Tag }

// Pinned returns the image with its tag and its digest.
func (t Tag) Pinned() string { return t.Reference() + "@" + t.Digest }

// Found is the result of Find.
type Found struct {
	Tag

	// Tags are the tags that match the policy, the wanted one first.
	Tags []string
}

// Find returns the tag of an image that a policy selects. A tag or digest in the name of the image
// is ignored.
func Find(ctx context.Context, registry Registry, image string, policy Policy) (Found, error) {
	if err := policy.Check(); err != nil {
		return Found{}, err
	}
	canonical, err := Canonical(image)
	if err != nil {
		return Found{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTooSlow)
	defer cancel()
	address := addressOf(canonical)
	tags, err := registry.Tags(ctx, address)
	if err != nil {
		return Found{}, err
	}
	sorted, err := policy.Sort(tags)
	if err != nil {
		return Found{}, err
	}
	sum, err := registry.Digest(ctx, address, sorted[0])
	if err != nil {
		return Found{}, err
	}
	if err := digest.Digest(sum).Validate(); err != nil {
		return Found{}, fmt.Errorf("the registry returned a digest of tag %s that is not valid: %w", sorted[0], err)
	}
	return Found{Tag: Tag{Image: canonical, Tag: sorted[0], Digest: sum}, Tags: sorted}, nil
}

// patience is how long the requests for one image may take, with all pages of its tags.
const patience = 2 * time.Minute

var errTooSlow = fmt.Errorf("the registry took longer than %s", patience)

// Address returns the address of an image: oci://docker.io/library/nginx for nginx:1.29.
func Address(image string) (string, error) {
	canonical, err := Canonical(image)
	return addressOf(canonical), err
}

func addressOf(canonical string) string {
	if path, ok := strings.CutPrefix(canonical, name.DefaultRegistry+"/"); ok {
		return "oci://docker.io/" + path
	}
	return "oci://" + canonical
}

// Canonical returns the name of an image with its registry and without its tag or digest:
// index.docker.io/library/nginx for nginx:1.29.
func Canonical(image string) (string, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return "", fmt.Errorf("%q is not the name of an image: %w", image, err)
	}
	return reference.Context().Name(), nil
}
