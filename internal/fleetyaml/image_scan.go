package fleetyaml

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

// ImageScan selects a tag of an image for the lines that are marked with its TagName
// (pkg/apis/fleet.cattle.io/v1alpha1 of Fleet 0.16: ImageScanYAML, ImageScanSpec).
type ImageScan struct {
	Name        string           `json:"name,omitempty"`
	TagName     string           `json:"tagName,omitempty"`
	GitRepoName string           `json:"gitrepoName,omitempty"`
	Image       string           `json:"image,omitempty"`
	Interval    string           `json:"interval,omitempty"`
	Policy      ImagePolicy      `json:"policy,omitzero"`
	SecretRef   *SecretReference `json:"secretRef,omitempty"`
	// Suspend leaves marked lines as they are.
	Suspend bool `json:"suspend,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	Name string `json:"name,omitempty"`
}

// ImagePolicy selects the newest tag. Without SemVer and Alphabetical, that is the largest version
// that is no pre-release.
type ImagePolicy struct {
	SemVer       *SemVerPolicy       `json:"semver,omitempty"`
	Alphabetical *AlphabeticalPolicy `json:"alphabetical,omitempty"`
}

// SemVerPolicy selects the largest version in a range.
type SemVerPolicy struct {
	Range string `json:"range,omitempty"`
}

// AlphabeticalPolicy selects the last tag in alphabetical order; with the Order asc, the first.
type AlphabeticalPolicy struct {
	Order string `json:"order,omitempty"`
}

// Choice returns the policy as Fleet's controller applies it
// (internal/cmd/controller/imagescan/tagscan_job.go): SemVer counts before Alphabetical.
func (p ImagePolicy) Choice() image.Policy {
	switch {
	case p.SemVer != nil:
		return image.Policy{By: image.SemVer, Range: p.SemVer.Range}
	case p.Alphabetical != nil:
		return image.Policy{By: image.Alphabetical, Smallest: strings.EqualFold(p.Alphabetical.Order, "asc")}
	}
	return image.Policy{By: image.SemVer}
}

func (v validator) imageScan(node *yaml.Node, scan ImageScan) {
	if scan.Image == "" {
		v.report.note(node, Note, "an entry of imageScans without image has no effect, as in Fleet")
		return
	}
	if scan.TagName == "" {
		v.report.fail(node, Invalid, "an entry of imageScans needs a tagName, which marks the lines that get the tag")
	}
	if strings.Contains(scan.TagName, ":") {
		v.report.fail(lookup(node, "tagName"), Invalid,
			"tagName %q contains a colon, which begins the part of a marker: choose another name", scan.TagName)
	}
	if _, err := image.Canonical(scan.Image); err != nil {
		v.report.fail(lookup(node, "image"), Invalid, "image: %v", err)
	}
	if err := scan.Policy.Choice().Check(); err != nil {
		v.report.fail(lookup(node, "policy", "semver", "range"), Invalid, "policy.semver.range: %v", err)
	}
	if scan.Policy.SemVer != nil && scan.Policy.Alphabetical != nil {
		v.report.note(lookup(node, "policy", "alphabetical"), Note, "policy.alphabetical has no effect beside policy.semver, as in Fleet")
	}
	if order := scan.Policy.Alphabetical; order != nil && order.Order != "" &&
		!strings.EqualFold(order.Order, "asc") && !strings.EqualFold(order.Order, "desc") {
		v.report.fail(lookup(node, "policy", "alphabetical", "order"), Invalid,
			"policy.alphabetical.order %q is neither asc nor desc", order.Order)
	}
	if scan.SecretRef != nil {
		v.report.note(lookup(node, "secretRef"), Note, "secretRef has no effect: credentials are those of the provider's registries")
	}
}
