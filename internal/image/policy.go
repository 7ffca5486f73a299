// Package image finds the newest tag of a container image by a policy, as Fleet's image scans do.
package image

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Order is how tags are compared.
type Order string

// The orders of tags.
const (
	// SemVer compares semantic versions. Other tags are ignored.
	SemVer Order = "semver"
	// Alphabetical compares text, byte by byte.
	Alphabetical Order = "alphabetical"
	// Numerical compares whole numbers. Other tags are ignored.
	Numerical Order = "numerical"
)

// Policy selects a tag of an image. The zero value selects the largest semantic version that is no
// pre-release.
type Policy struct {
	// By is the order; "" is SemVer.
	By Order
	// Range is a range of semantic versions, such as "~1.4"; "" is "*". It applies to SemVer only.
	Range string
	// Smallest selects the smallest tag instead of the largest. It does not apply to SemVer.
	Smallest bool
	// Filter is a regular expression; "" matches each tag. Tags that it does not match are ignored.
	// If it has a group, the text of the first group is compared instead of the tag.
	Filter string
}

// noMatch is the error about an image of which no tag matches the policy. tags is how many it has.
func (p Policy) noMatch(tags int) error {
	if tags == 0 {
		return errors.New("the image has no tags")
	}
	var wants []string
	switch cmp.Or(p.By, SemVer) {
	case SemVer:
		wants = append(wants, fmt.Sprintf("is a version in the range %q", p.versions()))
	case Numerical:
		wants = append(wants, "is a whole number")
	case Alphabetical:
		wants = append(wants, "is valid")
	}
	if p.Filter != "" {
		wants = append(wants, fmt.Sprintf("matches %q", p.Filter))
	}
	return fmt.Errorf("none of its %d tags %s", tags, strings.Join(wants, " and "))
}

func (p Policy) versions() string { return cmp.Or(p.Range, "*") }

// candidate is a tag that matches the policy.
type candidate struct {
	tag     string
	text    string
	version *semver.Version
}

// Sort returns the tags that match the policy, the wanted one first. Equal tags are in alphabetical
// order, so the order in which a registry lists them has no effect.
//
// A policy that no tag matches is an error, and so are those of Check.
func (p Policy) Sort(tags []string) ([]string, error) {
	filter, constraint, err := p.compile()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, tag := range tags {
		if one, counts := p.candidate(tag, filter, constraint); counts {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return nil, p.noMatch(len(tags))
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(p.compare(a, b), cmp.Compare(a.tag, b.tag)) })
	sorted := make([]string, len(found))
	for i, one := range found {
		sorted[i] = one.tag
	}
	return slices.Compact(sorted), nil
}

func (p Policy) candidate(tag string, filter *regexp.Regexp, constraint *semver.Constraints) (candidate, bool) {
	if !isTag(tag) {
		return candidate{}, false // Such a tag cannot be pulled, and may contain any text.
	}
	one := candidate{tag: tag, text: tag}
	if filter != nil {
		match := filter.FindStringSubmatch(tag)
		if match == nil {
			return candidate{}, false
		}
		if len(match) > 1 {
			one.text = match[1]
		}
	}
	switch p.By {
	case SemVer, "":
		version, err := semver.NewVersion(one.text)
		one.version = version
		return one, err == nil && constraint.Check(version)
	case Numerical:
		return one, isNumber(one.text)
	case Alphabetical:
	}
	return one, true
}

// compare orders wanted tags first.
func (p Policy) compare(a, b candidate) int {
	order := 0
	switch p.By {
	case SemVer, "":
		return b.version.Compare(a.version)
	case Numerical:
		x, y := strings.TrimLeft(a.text, "0"), strings.TrimLeft(b.text, "0")
		order = cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	case Alphabetical:
		order = cmp.Compare(a.text, b.text)
	}
	if p.Smallest {
		return order
	}
	return -order
}

// Check returns what is wrong with a policy.
func (p Policy) Check() error {
	_, _, err := p.compile()
	return err
}

func (p Policy) compile() (*regexp.Regexp, *semver.Constraints, error) {
	constraint, err := semver.NewConstraint(p.versions())
	if err != nil {
		return nil, nil, fmt.Errorf("the range of semantic versions cannot be read: %w", err)
	}
	if !slices.Contains([]Order{"", SemVer, Alphabetical, Numerical}, p.By) {
		return nil, nil, fmt.Errorf("%q is not an order of tags", p.By)
	}
	if p.Filter == "" {
		return nil, constraint, nil
	}
	filter, err := regexp.Compile(p.Filter)
	if err != nil {
		return nil, nil, fmt.Errorf("the filter is not a regular expression: %w", err)
	}
	if filter.NumSubexp() > 1 {
		return nil, nil, errTwoGroups
	}
	return filter, constraint, nil
}

var errTwoGroups = errors.New("the filter has more than one group; write groups that are not compared as (?:…)")

var (
	tagPattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	numberPattern = regexp.MustCompile(`^[0-9]+$`)
)

// maxTag is the maximum length of a tag in bytes.
const maxTag = 128

// isTag checks the grammar of the OCI distribution specification.
func isTag(text string) bool { return len(text) <= maxTag && tagPattern.MatchString(text) }

func isNumber(text string) bool { return numberPattern.MatchString(text) }
