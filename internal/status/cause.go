package status

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
)

// Cause returns the text of an error without the cluster on which the error occurred, so that
// one cause on many clusters has one text. It leaves out the empty lines that Helm adds to a
// list of errors.
func Cause(err error) string {
	if unreachable, ok := errors.AsType[*UnreachableError](err); ok {
		return fmt.Sprintf("the cluster does not respond (%v)", withoutURL(unreachable.Err))
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return fmt.Sprintf("the cluster denies the request (%v)", denied.Err)
	}
	if held, ok := errors.AsType[*rollout.HeldError](err); ok {
		return held.Reason
	}
	if busy, ok := errors.AsType[*BusyError](err); ok {
		return fmt.Sprintf("the cluster cannot process the request now (%v)", busy.Err)
	}
	return strings.TrimSpace(err.Error())
}

// ShortCause returns Cause in one line, for a list of items that cannot be shown. The warning
// of the refresh has more details about a cluster that does not respond.
func ShortCause(err error) string {
	if _, notYet := errors.AsType[*UnknownConnectionError](err); notYet {
		return "the connection of the cluster is not known yet"
	}
	if _, silent := errors.AsType[*UnreachableError](err); silent {
		return "the cluster does not respond"
	}
	return strings.Join(strings.Fields(Cause(err)), " ")
}

// withoutURL removes the request from a network error. Its address with all parameters is
// longer and less helpful than the cause.
func withoutURL(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// Grouped groups items by a text, such as clusters by cause.
type Grouped struct {
	texts []string
	of    map[string][]string
}

// Add adds an item to the group of a text.
func (g *Grouped) Add(text, concerns string) {
	if g.of == nil {
		g.of = map[string][]string{}
	}
	if _, known := g.of[text]; !known {
		g.texts = append(g.texts, text)
	}
	if !slices.Contains(g.of[text], concerns) {
		g.of[text] = append(g.of[text], concerns)
	}
}

// IsEmpty reports whether there are no texts.
func (g *Grouped) IsEmpty() bool { return len(g.texts) == 0 }

// String returns a paragraph for each text, in the order of their first Add.
func (g *Grouped) String() string {
	paragraphs := make([]string, len(g.texts))
	for i, text := range g.texts {
		paragraphs[i] = strings.Join(g.of[text], ", ") + ":" + text
	}
	return strings.Join(paragraphs, "\n\n")
}

// List returns a line for each text, in the order of their first Add.
func (g *Grouped) List() string {
	var lines strings.Builder
	for _, text := range g.texts {
		fmt.Fprintf(&lines, "\n  - %s: on %s", text, strings.Join(g.of[text], ", "))
	}
	return lines.String()
}

// Each calls do for each text and its items, both sorted.
func (g *Grouped) Each(do func(text string, concerns []string)) {
	for _, text := range slices.Sorted(slices.Values(g.texts)) {
		do(text, slices.Sorted(slices.Values(g.of[text])))
	}
}
