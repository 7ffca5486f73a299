package charttest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

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

// AddChart puts a chart into the Helm repository, in place of one of the same name
// and version.
func (s *Server) AddChart(chart Chart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.charts {
		if known.Name == chart.Name && known.Version == chart.Version {
			s.charts[i] = chart
			return
		}
	}
	s.charts = append(s.charts, chart)
}

// RemoveChart takes a version of a chart out of the Helm repository.
func (s *Server) RemoveChart(name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charts = slices.DeleteFunc(s.charts, func(c Chart) bool { return c.Name == name && c.Version == version })
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

func (s *Server) repositoryFile(name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, ok := s.files[repositoryPath+"/"+name]; ok {
		return content, true
	}
	if name == "index.yaml" {
		return s.index(), true
	}
	for _, chart := range s.charts {
		if strings.HasSuffix(ArchivePath(chart.Name, chart.Version), "/"+name) {
			return chart.Package(), true
		}
	}
	return nil, false
}

func (s *Server) index() []byte {
	all := index{APIVersion: "v1", Entries: map[string][]indexEntry{}}
	for _, chart := range s.charts {
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
