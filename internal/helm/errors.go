package helm

import (
	"fmt"
	"strings"
)

// UntrustedRecordError says that a release record is not the one that Terraform's state
// knows, so that it was not rolled back to and none of its hooks ran.
type UntrustedRecordError struct {
	// Name is that of the Secret.
	Name string
}

func (e *UntrustedRecordError) Error() string {
	return fmt.Sprintf("the release record %s is not the one that this provider last wrote or verified, so its content is not used", e.Name)
}

// ExistingObjectsError says that objects of a new release are there already. They name the
// release as theirs, and its record is gone.
type ExistingObjectsError struct {
	Release, Namespace string
	// Objects are such as "Deployment web/nginx".
	Objects []string
	// Foreign reports that they belong to other releases or to none.
	Foreign bool
}

func (e *ExistingObjectsError) Error() string {
	const named = 5
	more := ""
	if len(e.Objects) > named {
		more = fmt.Sprintf(" and %d more", len(e.Objects)-named)
	}
	what := "objects of release %s in namespace %s already exist, and the release has no record"
	if e.Foreign {
		what = "objects that release %s in namespace %s needs already exist, and belong to another release or to none"
	}
	return fmt.Sprintf(what+": %s%s; set take_ownership = true to adopt them, or delete them",
		e.Release, e.Namespace, strings.Join(e.Objects[:min(named, len(e.Objects))], ", "), more)
}

// LostAPIsError says that an operation failed on a cluster that cannot do any more what
// its release was rendered for.
type LostAPIsError struct {
	APIs []string
	Err  error
}

func (e *LostAPIsError) Error() string {
	const named = 5
	more := ""
	if len(e.APIs) > named {
		more = fmt.Sprintf(" and %d more", len(e.APIs)-named)
	}
	return fmt.Sprintf("%v (since the plan, the cluster no longer serves %s%s; plan again)", e.Err, strings.Join(e.APIs[:min(named, len(e.APIs))], ", "), more)
}

// Unwrap gives the cause.
func (e *LostAPIsError) Unwrap() error { return e.Err }
