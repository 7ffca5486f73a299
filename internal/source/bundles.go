package source

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Listed is an element of an attribute named bundles.
type Listed struct {
	Element

	// IsKnown is true if its digest is known.
	IsKnown bool
}

// SameNameError reports two bundles of one name in a list of maps.
type SameNameError struct {
	Bundle string
	// Index is the index of the map that contains the second one.
	Index int
}

func (e *SameNameError) Error() string { return fmt.Sprintf("two bundles are named %s", e.Bundle) }

// UnreadableError reports a bundle that cannot be read.
type UnreadableError struct {
	Bundle string
	Err    error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("reading bundle %s: %v", e.Bundle, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// BundleReader reads the bundles that an attribute lists.
type BundleReader struct {
	Store *Store
	// NeedsUnknown reports whether the cause of an error is that credentials are not known yet.
	NeedsUnknown func(error) bool
	// Unreadable collects the bundles that cannot be read. If it is nil, one such bundle is an
	// error.
	Unreadable map[string]error
}

// Read returns the contents of listed bundles in the order of their names. A map that is nil is not
// known yet. unknown names the part that is not known yet, "" if all is known. The error is a
// *SameNameError or an *UnreadableError.
func (r BundleReader) Read(ctx context.Context, listed []map[string]Listed) (bundles []*bundle.Bundle, unknown string, err error) {
	elements, unknown, err := elementsOf(listed)
	if unknown != "" || err != nil {
		return nil, unknown, err
	}
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		content, err := r.Store.Find(ctx, elements[name])
		switch {
		case r.NeedsUnknown(err):
			return nil, "the credentials for bundle " + name, nil
		case content == nil && err == nil:
			return nil, "the content of bundle " + name, nil
		case err != nil && r.Unreadable != nil && ctx.Err() == nil:
			r.Unreadable[name] = fmt.Errorf("reading the bundle: %w", err)
		case err != nil:
			return nil, "", &UnreadableError{Bundle: name, Err: err}
		default:
			bundles = append(bundles, content)
		}
	}
	return bundles, "", nil
}

// elementsOf returns all listed elements by their names.
func elementsOf(listed []map[string]Listed) (elements map[string]Element, unknown string, err error) {
	elements = map[string]Element{}
	for i, of := range listed {
		if of == nil {
			return nil, "the bundles", nil
		}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if !of[name].IsKnown {
				return nil, "the bundle " + name, nil
			}
			if _, twice := elements[name]; twice {
				return nil, "", &SameNameError{Bundle: name, Index: i}
			}
			elements[name] = of[name].Element
		}
	}
	return elements, "", nil
}
