package helm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Dependencies answers what the chart in a folder of files depends on and its
// charts/ lacks, as files beside the given ones, unpacked. Versions are those of
// the pin, else of a Chart.lock that fits, else the newest allowed. All are
// fetched, whatever their conditions say, as "helm dependency update" does.
//
// Errors: *FetchError, *ArchiveError.
func (f *Fetcher) Dependencies(ctx context.Context, files []bundle.File, folder string, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
	wanted, err := dependenciesOf(files, folder)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	locked := lockOf(files, folder, wanted)
	var added []bundle.File
	found := bundle.Pin{}
	for _, dependency := range wanted {
		if isVendored(files, folder, dependency) {
			continue
		}
		version := cmp.Or(pin.Dependencies[dependency.Name], locked[dependency.Name])
		fetched, exact, err := f.dependency(ctx, files, folder, dependency, version)
		if err != nil {
			return nil, bundle.Pin{}, fmt.Errorf("dependency %s: %w", dependency.Name, err)
		}
		at := path.Join(folder, "charts", dependency.Name+"-"+exact)
		for _, file := range fetched {
			added = append(added, bundle.File{Name: path.Join(at, file.Name), Content: file.Content})
		}
		if found.Dependencies == nil {
			found.Dependencies = map[string]string{}
		}
		found.Dependencies[dependency.Name] = exact
	}
	return added, found, nil
}

// dependency answers the files of one chart that another one depends on.
func (f *Fetcher) dependency(ctx context.Context, files []bundle.File, folder string, d *chart.Dependency, version string) ([]bundle.File, string, error) {
	switch {
	case d.Repository == "":
		return nil, "", &FetchError{URL: d.Name, Reason: NotFound, Err: errors.New("it names no repository and does not lie in charts/")}
	case strings.HasPrefix(d.Repository, "@"), strings.HasPrefix(d.Repository, "alias:"):
		return nil, "", &FetchError{URL: d.Repository, Reason: Malformed, Err: errors.New("an alias is known only to the machine it was made on; write the repository's URL")}
	case strings.HasPrefix(d.Repository, "file://"):
		return beside(files, folder, d)
	}
	wanted := bundle.Chart{Repo: d.Repository, Name: d.Name, Version: cmp.Or(version, d.Version)}
	if strings.HasPrefix(d.Repository, "oci://") {
		wanted = bundle.Chart{Repo: strings.TrimSuffix(d.Repository, "/") + "/" + d.Name, Version: wanted.Version}
	}
	fetched, pin, err := f.Fetch(ctx, wanted, bundle.Pin{Version: version})
	return fetched, pin.Version, err
}

// beside finds a dependency that lies in another folder of the same files.
func beside(files []bundle.File, folder string, d *chart.Dependency) ([]bundle.File, string, error) {
	at := path.Join(folder, strings.TrimPrefix(d.Repository, "file://"))
	missing := &FetchError{URL: d.Repository, Reason: NotFound, Err: errors.New("there is no such chart in the bundle; nothing outside of it is read")}
	if at == ".." || strings.HasPrefix(at, "../") || strings.HasPrefix(at, "/") {
		return nil, "", missing
	}
	var found []bundle.File
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Name, at+"/"); ok {
			found = append(found, bundle.File{Name: name, Content: file.Content})
		}
	}
	metadata, err := metadataOf(found, ".")
	if err != nil || metadata.Name == "" {
		return nil, "", missing
	}
	return found, metadata.Version, nil
}

func metadataOf(files []bundle.File, folder string) (chart.Metadata, error) {
	var metadata chart.Metadata
	i := slices.IndexFunc(files, func(file bundle.File) bool { return file.Name == path.Join(folder, "Chart.yaml") })
	if i < 0 {
		return metadata, nil
	}
	if err := yaml.Unmarshal(files[i].Content, &metadata); err != nil {
		return metadata, &ChartError{Bundle: folder, Err: err}
	}
	return metadata, nil
}

// dependenciesOf reads what a chart depends on, from where Helm 2 wrote it too.
func dependenciesOf(files []bundle.File, folder string) ([]*chart.Dependency, error) {
	metadata, err := metadataOf(files, folder)
	if err != nil || len(metadata.Dependencies) > 0 {
		return metadata.Dependencies, err
	}
	i := slices.IndexFunc(files, func(file bundle.File) bool { return file.Name == path.Join(folder, "requirements.yaml") })
	if i < 0 {
		return nil, nil
	}
	var old chart.Metadata
	if err := yaml.Unmarshal(files[i].Content, &old); err != nil {
		return nil, &ChartError{Bundle: folder, Err: fmt.Errorf("requirements.yaml: %w", err)}
	}
	return old.Dependencies, nil
}

// isVendored says whether a dependency lies in charts/, as a folder or packed.
func isVendored(files []bundle.File, folder string, d *chart.Dependency) bool {
	at := path.Join(folder, "charts", d.Name)
	return slices.ContainsFunc(files, func(file bundle.File) bool {
		return file.Name == at+"/Chart.yaml" ||
			(strings.HasPrefix(file.Name, at+"-") && strings.HasSuffix(file.Name, ".tgz") && path.Dir(file.Name) == path.Dir(at))
	})
}

// lockOf are the versions of a Chart.lock, if it was made for these dependencies.
func lockOf(files []bundle.File, folder string, wanted []*chart.Dependency) map[string]string {
	i := slices.IndexFunc(files, func(file bundle.File) bool {
		return file.Name == path.Join(folder, "Chart.lock") || file.Name == path.Join(folder, "requirements.lock")
	})
	var lock chart.Lock
	if i < 0 || yaml.Unmarshal(files[i].Content, &lock) != nil {
		return nil
	}
	// Helm writes this sum (internal/resolver/resolver.go), and does not tell how
	// old the lock is by anything else.
	content, err := json.Marshal([2][]*chart.Dependency{wanted, lock.Dependencies})
	sum := sha256.Sum256(content)
	if err != nil || lock.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil
	}
	versions := map[string]string{}
	for _, dependency := range lock.Dependencies {
		versions[dependency.Name] = dependency.Version
	}
	return versions
}

// newestFirst sorts versions; what is none comes last.
func newestFirst(versions []string) {
	slices.SortFunc(versions, func(a, b string) int {
		left, leftErr := semver.NewVersion(a)
		right, rightErr := semver.NewVersion(b)
		switch {
		case leftErr != nil && rightErr != nil:
			return strings.Compare(a, b)
		case leftErr != nil:
			return 1
		case rightErr != nil:
			return -1
		}
		return right.Compare(left)
	})
}
