package retry

import "time"

// Request is for a single request to an API server. It is short: a longer failure is repeated
// as a whole Operation.
func Request() Policy {
	return Policy{First: 100 * time.Millisecond, Longest: time.Minute, Factor: 1.5, Jitter: 0.5, Tries: 4}
}

// Conflict is for a change of an object that another client changes at the same time. The
// policy is the one of k8s.io/client-go, util/retry.
func Conflict() Policy {
	return Policy{First: 10 * time.Millisecond, Longest: 10 * time.Millisecond, Factor: 1, Jitter: 0.1, Tries: 5}
}

// Update is for an update of an object that a controller writes to very often.
func Update() Policy {
	return Policy{First: 50 * time.Millisecond, Longest: time.Second, Factor: 2, Jitter: 0.2, Tries: 20}
}

// Record is for the release record at the end of an operation. If the record is not written,
// the operation of a working release looks interrupted.
func Record() Policy {
	return Policy{First: 500 * time.Millisecond, Longest: time.Minute, Factor: 1.5, Jitter: 0.5}
}

// Operation is for a whole operation on a cluster, such as an upgrade.
func Operation() Policy {
	return Policy{First: 200 * time.Millisecond, Longest: 5 * time.Second, Factor: 1.5, Jitter: 0.5}
}

// Removal is for a release that another target must uninstall first.
func Removal() Policy {
	return Policy{First: 250 * time.Millisecond, Longest: 2 * time.Second, Factor: 1.5, Jitter: 0.5}
}

// Readiness is for the objects of a release that another process makes ready.
func Readiness() Policy {
	return Policy{First: 500 * time.Millisecond, Longest: 2 * time.Second, Factor: 1.5, Jitter: 0.5}
}

// Discovery is for kinds that a cluster serves a moment after their definitions are created.
func Discovery() Policy {
	return Policy{First: 50 * time.Millisecond, Longest: time.Second, Factor: 1.5}
}

// Unwatched is for objects without a watch, and Watched for objects with a watch. Polling is
// needed with a watch too: a proxy may not forward its events.
func Unwatched() Policy {
	return Policy{First: 100 * time.Millisecond, Longest: 2 * time.Second, Factor: 1.5}
}

// Watched is described with Unwatched.
func Watched() Policy {
	return Policy{First: 2 * time.Second, Longest: 10 * time.Second, Factor: 1.5}
}

// Download is for a request to a server of charts. It takes about two seconds.
func Download() Policy {
	return Policy{First: 250 * time.Millisecond, Longest: 2 * time.Second, Factor: 2, Jitter: 0.1, Tries: 4}
}
