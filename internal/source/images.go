package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

// ScannedImage is an entry of imageScans and the tag that it found.
type ScannedImage struct {
	Scan ImageScan `json:"scan"`
	image.Tag
}

// ImageScan contains those fields of an entry of imageScans that determine which tag is found.
type ImageScan struct {
	TagName string                `json:"tagName"`
	Image   string                `json:"image"`
	Policy  fleetyaml.ImagePolicy `json:"policy,omitzero"`
}

// maxImageScans is the limit for the number of images in the files of one repository. For each
// image, requests are sent to a registry.
const maxImageScans = 100

// ImageError reports an entry of imageScans for which there is no tag.
type ImageError struct {
	TagName, Image string
	Err            error
}

func (e *ImageError) Error() string {
	return fmt.Sprintf("imageScans, tagName %s, image %s: %v", e.TagName, e.Image, e.Err)
}

func (e *ImageError) Unwrap() error { return e.Err }

// imageRegistries are clients of the registries where images are looked up.
type imageRegistries struct {
	registry image.Registry
	public   image.Registry // Without credentials.
}

// of returns the client for an image. The client uses credentials, unless the Spec limits them to
// other addresses.
func (r imageRegistries) of(spec Spec, name string) (image.Registry, error) {
	address, err := image.Address(name)
	if err != nil {
		return nil, err
	}
	allowed, err := spec.allowsCredentials(address)
	if err != nil {
		return nil, err
	}
	if allowed {
		return r.registry, nil
	}
	return r.public, nil
}

// imageScans returns the scans that the bundles of a source define, in the order of the bundles.
func imageScans(bundles []bundle.Bundle) ([]ImageScan, error) {
	var scans []ImageScan
	from := map[string]string{}
	for _, b := range bundles {
		for _, entry := range b.Definition.ImageScans {
			if entry.Image == "" || entry.Suspend {
				continue
			}
			if first, twice := from[entry.TagName]; twice {
				return nil, &ImageError{
					TagName: entry.TagName, Image: entry.Image,
					Err: fmt.Errorf("the tagName must be unique in a repository, and bundles %s and %s use it", first, b.Name),
				}
			}
			from[entry.TagName] = b.Name
			if scans = append(scans, ImageScan{TagName: entry.TagName, Image: entry.Image, Policy: entry.Policy}); len(scans) > maxImageScans {
				return nil, &ImageError{
					TagName: entry.TagName, Image: entry.Image,
					Err: fmt.Errorf("the repository has more than %d imageScans", maxImageScans),
				}
			}
		}
	}
	return scans, nil
}

// scanImages returns the tags for the scans of a Spec. Tags in known are not looked up again.
// pinned is true if all tags were known.
func (s *Store) scanImages(ctx context.Context, spec Spec, known []ScannedImage) (images []ScannedImage, pinned bool, err error) {
	if spec.Read == nil || !spec.Read.ImageScans {
		return nil, true, nil
	}
	result, err := s.make(ctx, spec)
	if err != nil {
		return nil, false, err
	}
	scans, err := imageScans(result.Bundles)
	if err != nil {
		return nil, false, err
	}
	images, missing := make([]ScannedImage, len(scans)), []int{}
	for i, scan := range scans {
		j := slices.IndexFunc(known, func(k ScannedImage) bool { return k.Scan.equal(scan) })
		if j < 0 {
			images[i].Scan = scan
			missing = append(missing, i)
			continue
		}
		images[i] = known[j]
	}
	if len(result.Broken) > 0 {
		images = slices.Concat(images, missingFrom(scans, known))
	}
	failed := s.find(ctx, spec, images, missing)
	return images, len(missing) == 0, errors.Join(failed...)
}

// missingFrom returns the known images with tag names that are not in scans. A broken folder may
// have defined these scans, and lines in other folders keep their tags.
func missingFrom(scans []ImageScan, known []ScannedImage) []ScannedImage {
	return slices.DeleteFunc(slices.Clone(known), func(k ScannedImage) bool {
		return slices.ContainsFunc(scans, func(s ImageScan) bool { return s.TagName == k.Scan.TagName })
	})
}

func (s ImageScan) equal(other ImageScan) bool {
	return s.TagName == other.TagName && s.Image == other.Image && s.Policy.Choice() == other.Policy.Choice()
}

// DecodeImages reads what is stored of images. Empty input is no images.
func DecodeImages(raw []byte) ([]ScannedImage, error) {
	return decode[[]ScannedImage](raw, "the images of imageScans")
}

// EncodeImages writes images as JSON.
func EncodeImages(images []ScannedImage) ([]byte, error) {
	if images == nil {
		images = []ScannedImage{}
	}
	return json.Marshal(images)
}

// RefreshImages looks up the tags again. If the tag of an image cannot be looked up, the old tag is
// kept, and failed contains the error.
func (s *Store) RefreshImages(ctx context.Context, spec Spec, images []ScannedImage) (found []ScannedImage, failed []error) {
	found = slices.Clone(images)
	all := make([]int, len(found))
	for i := range all {
		all[i] = i
	}
	return found, s.find(ctx, spec, found, all)
}

// find looks up the tags of the images at the indices which, and sets them in images.
func (s *Store) find(ctx context.Context, spec Spec, images []ScannedImage, which []int) (failed []error) {
	doing := func(n int) string { return "looking for the newest tag of " + images[which[n]].Scan.Image }
	errs := each(len(which), doing, func(n int) error {
		scanned := &images[which[n]]
		tag, err := s.images.find(ctx, spec, scanned.Scan)
		if err == nil {
			scanned.Tag = tag
		}
		return err
	})
	for n, err := range errs {
		if err != nil {
			scan := images[which[n]].Scan
			failed = append(failed, &ImageError{TagName: scan.TagName, Image: scan.Image, Err: err})
		}
	}
	return failed
}

func (r imageRegistries) find(ctx context.Context, spec Spec, scan ImageScan) (image.Tag, error) {
	if r.registry == nil {
		return image.Tag{}, errNoImages
	}
	registry, err := r.of(spec, scan.Image)
	if err != nil {
		return image.Tag{}, err
	}
	if ctx, err = spec.within(ctx); err != nil {
		return image.Tag{}, err
	}
	found, err := image.Find(ctx, registry, scan.Image, scan.Policy.Choice())
	return found.Tag, err
}

var errNoImages = errors.New("images cannot be looked for here")

// withImages returns the same Spec with the tags for marked lines.
func (s Spec) withImages(images []ScannedImage) Spec {
	if len(images) == 0 {
		return s
	}
	read := *s.Read
	read.Images = make([]bundle.MarkedImage, len(images))
	for i, found := range images {
		read.Images[i] = bundle.MarkedImage{TagName: found.Scan.TagName, Tag: found.Tag}
	}
	s.Read = &read
	return s
}
