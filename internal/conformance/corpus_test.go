package conformance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// corpusVariable names a folder with recordings of the real Fleet's results for many inputs:
// inputs/, inventory.yaml and expected/INDEX.yaml.
const corpusVariable = "FLEET_CONFORMANCE"

// corpus is a folder of recordings.
type corpus struct {
	dir        string
	recordings []recording
	clusters   []target.Cluster
	groups     []target.Group
}

// recording is one input and Fleet's result for it.
type recording struct {
	ID       string        `json:"id"`
	Input    string        `json:"input"`
	Root     string        `json:"root"`
	RepoName string        `json:"repoName"`
	Paths    []string      `json:"paths"`
	Driven   []bundle.Base `json:"driven"`
	GitRepo  gitRepo       `json:"gitrepo"`
	Outcome  string        `json:"outcome"`
	// Class is the class of the error if the outcome is an error.
	Class     string `json:"class"`
	Deviation bool   `json:"deviation"`
	Open      bool   `json:"open"`
	// Symlinks are links below the input and their targets, for checkouts that cannot store links.
	Symlinks map[string]string `json:"symlinks"`
	Bundles  []recordedBundle  `json:"bundles"`
	Ours     ours              `json:"ours"`
}

// ours is this provider's result for a recording, if it differs from Fleet's.
type ours struct {
	Outcome string   `json:"outcome"`
	Error   string   `json:"error"`
	SameAs  string   `json:"sameAs"`
	Bundles []string `json:"bundles"`
	// Patch, by bundle and cluster, is merged into Fleet's result.
	Patch          map[string]map[string]json.RawMessage `json:"patch"`
	NotTargeted    map[string][]string                   `json:"notTargeted"`
	ResourcesAdded map[string][]string                   `json:"resourcesAdded"`
	// Objects by bundle and cluster are keys of all objects.
	Objects map[string]map[string][]string `json:"objects"`
	// Unspecified are paths such as "options.ignore" that are not compared.
	Unspecified []string `json:"unspecified"`
}

// gitRepo are the settings of the GitRepo of a recording.
type gitRepo struct {
	bundle.Overlay

	Targets []fleetyaml.Criteria `json:"targets"`
}

type recordedBundle struct {
	Name    string `json:"name"`
	Folder  string `json:"folder"`
	Dir     string `json:"dir"`
	Options string `json:"options"`
	Outcome string `json:"outcome"`
	// Clusters are "ok" or the class of an error.
	Clusters map[string]string `json:"clusters"`
}

func (b recordedBundle) folder() string {
	if b.Folder != "" {
		return b.Folder
	}
	return b.Name
}

func (r recording) options() bundle.ReadOptions {
	o := bundle.ReadOptions{RepoName: r.RepoName, Paths: r.Paths, BundlePaths: r.Driven, Strict: true, Overlay: r.GitRepo.Overlay}
	if o.RepoName == "" {
		o.RepoName = "test"
	}
	return o
}

// rules returns the targets of the GitRepo; by default every cluster.
func (r recording) rules() []target.Rule {
	if r.GitRepo.Targets == nil {
		return []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}}
	}
	return r.GitRepo.Targets
}

func readCorpus(t *testing.T, dir string) *corpus {
	t.Helper()

	c := &corpus{dir: dir}
	var index struct {
		Entries []recording `json:"entries"`
	}
	readYAML(t, filepath.Join(dir, "expected", "INDEX.yaml"), &index)
	c.recordings = index.Entries

	type metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	var inventory struct {
		Clusters []struct {
			Metadata metadata `json:"metadata"`
			Spec     struct {
				TemplateValues map[string]any `json:"templateValues"`
			} `json:"spec"`
		} `json:"clusters"`
		ClusterGroups []struct {
			Metadata metadata `json:"metadata"`
			Spec     struct {
				Selector *fleetyaml.Selector `json:"selector"`
			} `json:"spec"`
		} `json:"clustergroups"`
	}
	readYAML(t, filepath.Join(dir, "inventory.yaml"), &inventory)
	for _, cluster := range inventory.Clusters {
		c.clusters = append(c.clusters, target.Cluster{
			Name: cluster.Metadata.Name, Namespace: cluster.Metadata.Namespace,
			Labels: cluster.Metadata.Labels, Annotations: cluster.Metadata.Annotations,
			TemplateValues: cluster.Spec.TemplateValues,
		})
	}
	for _, group := range inventory.ClusterGroups {
		if group.Spec.Selector == nil { // A group without a selector has no clusters.
			continue
		}
		c.groups = append(c.groups, target.Group{
			Name: group.Metadata.Name, Labels: group.Metadata.Labels, Selector: *group.Spec.Selector,
		})
	}
	return c
}

// inputs returns the folder that the paths of a recording are relative to. Links that the checkout
// may have lost are created in a copy.
func (c *corpus) inputs(t *testing.T, r recording) string {
	t.Helper()

	dir := filepath.Join(c.dir, "inputs", r.Root)
	if len(r.Symlinks) == 0 {
		return dir
	}
	restored := t.TempDir()
	if err := os.CopyFS(filepath.Join(restored, r.Input), os.DirFS(filepath.Join(dir, r.Input))); err != nil {
		t.Fatal(err)
	}
	for link, to := range r.Symlinks {
		link = filepath.Join(restored, r.Input, link)
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return restored
}

// expected reads a recorded file of one bundle of an input.
func (c *corpus) expected(t *testing.T, id string, b recordedBundle, file string, into any) {
	t.Helper()
	readYAML(t, filepath.Join(c.dir, "expected", id, b.folder(), file), into)
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()

	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
