package deploy

// OnMissing is what happens to deployments on a cluster that is removed from the configuration and
// that cannot be reached. Its values are those of the attribute on_missing.
type OnMissing string

// The values of OnMissing.
const (
	// OnMissingUnknown is a setting that is not known before the apply.
	OnMissingUnknown OnMissing = ""
	// MissingIsError makes the missing entry of the cluster an error.
	MissingIsError OnMissing = "error"
	// ForgetMissing drops the deployments from state and leaves them on the cluster.
	ForgetMissing OnMissing = "forget"
)
