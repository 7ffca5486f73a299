package helm

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// ExistingObjectsError reports that objects of a new release already exist. They name the
// release as their owner, and its record no longer exists.
type ExistingObjectsError struct {
	Release, Namespace string
	// Objects are titles such as "Deployment web/nginx".
	Objects []string
	// Foreign is true if the objects belong to other releases or to none.
	Foreign bool
}

func (e *ExistingObjectsError) Error() string {
	what := "objects of release %s in namespace %s already exist, and the release has no record"
	if e.Foreign {
		what = "objects that release %s in namespace %s needs already exist, and belong to another release or to none"
	}
	return fmt.Sprintf(what+": %s; delete them, or name the deployment in take_ownership_of to adopt them",
		e.Release, e.Namespace, firstOf(e.Objects))
}

// Template is the text without names, see status.Template.
func (e *ExistingObjectsError) Template() string {
	return fmt.Sprintf("objects already exist, foreign: %t", e.Foreign)
}

// LostAPIsError reports that an operation failed on a cluster that no longer serves APIs for
// which its release was rendered.
type LostAPIsError struct {
	APIs []string
	Err  error
}

func (e *LostAPIsError) Error() string {
	return fmt.Sprintf("%v (since the plan, the cluster no longer serves %s; plan again)", e.Err, firstOf(e.APIs))
}

// Template is the text without names, see status.Template.
func (e *LostAPIsError) Template() string {
	return fmt.Sprintf("%s (lost APIs: %s)", status.Template(e.Err), strings.Join(e.APIs, ", "))
}

// Unwrap returns the cause.
func (e *LostAPIsError) Unwrap() error { return e.Err }

// firstOf names the first few of several names.
func firstOf(names []string) string {
	const named = 5
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}
