package charttest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// RepositoryURL is the address of the Helm repository.
func (s *Server) RepositoryURL() string { return s.URL(repositoryPath) }

// Paths of the repository, for Break and Requests.
const (
	// IndexPath is where the repository's index is.
	IndexPath = repositoryPath + "/index.yaml"
)

// ArchivePath is where the repository keeps a chart.
func ArchivePath(name, version string) string {
	return fmt.Sprintf("%s/%s-%s.tgz", repositoryPath, name, version)
}

// AddChart adds a chart to the Helm repository. It replaces one of the same name and version.
func (s *Server) AddChart(chart Chart) { s.repository.add(chart) }

// RemoveChart removes a version of a chart from the Helm repository.
func (s *Server) RemoveChart(name, version string) { s.repository.remove(name, version) }

// repository is a Helm repository.
type repository struct {
	mu     sync.Mutex
	charts []Chart
}

func (r *repository) add(chart Chart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, known := range r.charts {
		if known.Name == chart.Name && known.Version == chart.Version {
			r.charts[i] = chart
			return
		}
	}
	r.charts = append(r.charts, chart)
}

func (r *repository) remove(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.charts = slices.DeleteFunc(r.charts, func(c Chart) bool { return c.Name == name && c.Version == version })
}

type index struct {
	APIVersion string                  `json:"apiVersion"`
	Entries    map[string][]indexEntry `json:"entries"`
}

type indexEntry struct {
	APIVersion string   `json:"apiVersion"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	URLs       []string `json:"urls"`
	Digest     string   `json:"digest"`
}

// file returns the content that the repository serves under a name.
func (r *repository) file(name string) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "index.yaml" {
		return indexOf(r.charts), true
	}
	for _, chart := range r.charts {
		if strings.HasSuffix(ArchivePath(chart.Name, chart.Version), "/"+name) {
			return chart.Package(), true
		}
	}
	return nil, false
}

func indexOf(charts []Chart) []byte {
	all := index{APIVersion: "v1", Entries: map[string][]indexEntry{}}
	for _, chart := range charts {
		sum := sha256.Sum256(chart.Package())
		all.Entries[chart.Name] = append(all.Entries[chart.Name], indexEntry{
			APIVersion: "v2", Name: chart.Name, Version: chart.Version, Digest: hex.EncodeToString(sum[:]),
			URLs: []string{strings.TrimPrefix(ArchivePath(chart.Name, chart.Version), repositoryPath+"/")},
		})
	}
	content, err := yaml.Marshal(all)
	must(err)
	return content
}
