package templates

import (
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
)

// watchedCapabilities report when a template reads them without using their name, for example in a
// loop over its whole input. The methods return values of the same types as in Helm.
type watchedCapabilities struct {
	of   *chartutil.Capabilities
	note func()
}

// KubeVersion returns the version of Kubernetes.
func (w watchedCapabilities) KubeVersion() *chartutil.KubeVersion {
	w.note()
	return &w.of.KubeVersion
}

// APIVersions returns the API versions of the cluster.
func (w watchedCapabilities) APIVersions() chartutil.VersionSet {
	w.note()
	return w.of.APIVersions
}

// HelmVersion returns the version of the SDK in this program. It does not depend on the cluster.
func (w watchedCapabilities) HelmVersion() any { return w.of.HelmVersion }

// MarshalJSON is called by toYaml and toJson.
func (w watchedCapabilities) MarshalJSON() ([]byte, error) {
	w.note()
	return json.Marshal(w.of)
}

// String is called by functions that print.
func (w watchedCapabilities) String() string {
	w.note()
	return fmt.Sprint(*w.of)
}
