package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
)

// Chart is what a bundle says of a Helm chart: helm.repo, helm.chart and
// helm.version, word for word.
type Chart struct {
	Repo    string `json:"repo,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Directory is the folder of the bundle that a chart kept elsewhere is put into,
// as Fleet does (internal/bundlereader/resources.go): bundles that name the same
// chart have it in the same place.
func (c Chart) Directory() string {
	sum := sha256.Sum256([]byte(c.Name + ":" + c.Repo + ":" + c.Version))
	return path.Join(".chart", hex.EncodeToString(sum[:]))
}

// Pin is what a Chart was found to be, so that it is found to be the same again.
type Pin struct {
	// Version is exact: a chart version, or a commit for a chart in git; "" for
	// an archive, which has none.
	Version string `json:"version,omitempty"`
	// Digest covers the files of the chart with those of its dependencies.
	Digest string `json:"digest,omitempty"`
	// Dependencies are the exact versions of what Chart.yaml asks for, by the path
	// of the dependency: "redis", or "charts/web/redis" for one of a subchart.
	Dependencies map[string]string `json:"dependencies,omitempty"`
}
