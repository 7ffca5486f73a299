package git

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"
)

// About describes a commit: the name of its author, and the first line of its message. It is an
// alias for the same reason as Ref.
type About = struct {
	Author  string
	Subject string
}

// maxAbout is how many bytes an author or a subject may have. A longer one is left out as a whole,
// because a masker does not recognize half a secret.
const maxAbout = 4 << 10

func aboutOf(commit *object.Commit) About {
	subject, _, _ := strings.Cut(strings.TrimSpace(commit.Message), "\n")
	return About{Author: short(commit.Author.Name), Subject: short(strings.TrimSpace(subject))}
}

// short copies a text, so that the rest of the commit is not kept with it.
func short(text string) string {
	if len(text) > maxAbout {
		return ""
	}
	return strings.Clone(text)
}

// About describes a commit that Fetch has returned to a caller with the same rights. It sends no
// request. ok is false if the commit was not fetched.
func (c *Client) About(ctx context.Context, repo, commit string) (about About, ok bool) {
	_, of, err := c.want(ctx, repo, commit)
	if err != nil {
		return About{}, false
	}
	found, ok, err := c.fetched(of.key)
	if !ok || err != nil {
		return About{}, false
	}
	return found.objects.about, true
}
