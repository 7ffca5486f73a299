package release

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxFailed is how many different revisions can fail one after the other. Each of them is kept until
// a revision is deployed, because the next one has to remove what they have written.
const MaxFailed = 20

// Base returns the revisions that objects on a cluster can come from, newest first: the newest, and
// those before it, up to the last one that was deployed. Revisions after that one failed or were
// interrupted, and can have written some of their objects.
func Base(history []Observed) []Observed {
	history = slices.SortedFunc(slices.Values(history), func(a, b Observed) int { return cmp.Compare(b.Revision, a.Revision) })
	var base []Observed
	for _, revision := range history {
		isNewest := len(base) == 0
		switch {
		case !isNewest && revision.Status == StatusUninstalled:
			return base // Nothing was left of it.
		case !isNewest && revision.Status == StatusSuperseded:
			continue // Its successor was deployed.
		case isNewest || base[len(base)-1].Revision != revision.Revision:
			base = append(base, revision)
		}
		if revision.Status == StatusDeployed || revision.Status == StatusUninstalled {
			return base
		}
	}
	return base
}

// Newest returns the newest revision of a history, with the number of different revisions that have
// failed.
func Newest(history []Observed) Observed {
	base := Base(history)
	if len(base) == 0 {
		return Observed{}
	}
	newest, contents := base[0], map[string]bool{}
	for _, revision := range base {
		switch revision.Status {
		case StatusDeployed, StatusUninstalled, StatusSuperseded:
		default:
			contents[revision.sameContent()] = true
		}
	}
	newest.Failed = len(contents)
	return newest
}

// Distinct returns the revisions of Base, as far as none of them has the content of a newer one.
func Distinct(base []Observed) []Observed {
	contents := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(base), func(revision Observed) bool {
		known := contents[revision.sameContent()]
		contents[revision.sameContent()] = true
		return known
	})
}

// sameContent is equal for revisions with the same content. Nothing is known of one without a code.
func (o Observed) sameContent() string { return cmp.Or(o.Content, fmt.Sprint(o.Revision)) }

// TooManyFailedError reports that too many different revisions have failed since the last one that was
// deployed.
type TooManyFailedError struct {
	Release, Namespace string
	Failed             int
}

func (e *TooManyFailedError) Error() string {
	return fmt.Sprintf("%d different revisions of release %s in namespace %s have failed since the last one that was deployed, "+
		"and %d is the limit: "+
		"the next one has to remove what each of them has written. Run helm rollback %[2]s --namespace %[3]s, "+
		"and apply with the deployment in take_ownership_of; "+
		"or remove the deployment and add it again", e.Failed, e.Release, e.Namespace, MaxFailed)
}
