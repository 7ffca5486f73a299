package sandboxed

import (
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
)

// watchedCapabilities report when a template reads them by another way than their name,
// such as a loop over everything that it is given. What it is given back is of the
// types that Helm gives.
type watchedCapabilities struct {
	of   *chartutil.Capabilities
	note func()
}

// KubeVersion is the version of Kubernetes.
func (w watchedCapabilities) KubeVersion() *chartutil.KubeVersion {
	w.note()
	return &w.of.KubeVersion
}

// APIVersions are the API versions of the cluster.
func (w watchedCapabilities) APIVersions() chartutil.VersionSet {
	w.note()
	return w.of.APIVersions
}

// HelmVersion is that of the SDK in this program, and no matter of the cluster.
func (w watchedCapabilities) HelmVersion() any { return w.of.HelmVersion }

// MarshalJSON is what toYaml and toJson call.
func (w watchedCapabilities) MarshalJSON() ([]byte, error) {
	w.note()
	return json.Marshal(w.of)
}

// String is what printing calls.
func (w watchedCapabilities) String() string {
	w.note()
	return fmt.Sprint(*w.of)
}
