package deploy

// OnMissing says what becomes of deployments on a cluster that is removed from the
// configuration and that cannot be reached. Its values are those of the attribute on_missing.
type OnMissing string

// The values of OnMissing.
const (
	// OnMissingUnknown is a setting that is not known before the apply.
	OnMissingUnknown OnMissing = ""
	// MissingIsError asks for the entry of the cluster.
	MissingIsError OnMissing = "error"
	// ForgetMissing drops the deployments from state and leaves them on the cluster.
	ForgetMissing OnMissing = "forget"
)
