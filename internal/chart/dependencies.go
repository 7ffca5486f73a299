package chart

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// requirementsFile is the file in which Helm 2 stored the dependencies of a chart.
const requirementsFile = "requirements.yaml"

// Dependencies returns the dependencies that the chart in a folder of files does not have in its
// charts/. They are returned as unpacked files, to be added to the given files. The versions are
// those of a Chart.lock that fits, else those of the pin if the chart allows them, else the
// newest allowed. As with "helm dependency update", conditions of dependencies are ignored, and
// missing dependencies of a dependency are not fetched.
//
// Errors: those of Fetch.
func (f *Fetcher) Dependencies(ctx context.Context, files []bundle.File, folder string, pin bundle.Pin) ([]bundle.File, bundle.Pin, error) {
	wanted, err := dependenciesOf(files, folder)
	if err != nil {
		return nil, bundle.Pin{}, err
	}
	lacking := slices.DeleteFunc(slices.Clone(wanted), func(d *chart.Dependency) bool { return isVendored(files, folder, d) })
	if len(lacking) == 0 {
		return nil, bundle.Pin{}, nil
	}
	locked := lockOf(files, folder, wanted)
	var added []bundle.File
	found := bundle.Pin{Dependencies: map[string]string{}}
	there := map[string]bool{}
	for _, dependency := range lacking {
		version := cmp.Or(locked[nameOf(dependency)], pinned(dependency, pin))
		fetched, exact, err := f.dependency(ctx, files, folder, dependency, version)
		if err != nil {
			return nil, bundle.Pin{}, fmt.Errorf("dependency %s: %w", dependency.Name, err)
		}
		found.Dependencies[nameOf(dependency)] = exact
		at := path.Join(folder, chartsDir, dependency.Name+"-"+exact)
		if there[at] {
			continue // Two aliases of one chart.
		}
		there[at] = true
		for _, file := range fetched {
			added = append(added, bundle.File{Name: path.Join(at, file.Name), Content: file.Content})
		}
	}
	found.Digest = digestOf(added)
	if pin.Digest != "" && pin.Digest != found.Digest && maps.Equal(pin.Dependencies, found.Dependencies) {
		return nil, bundle.Pin{}, changed("the dependencies of chart "+folder, "", pin.Digest, found.Digest)
	}
	return added, found, nil
}

// chartsDir is the folder in which a chart has its dependencies.
const chartsDir = "charts"

// nameOf distinguishes the dependencies of one chart: two may have the same Name.
func nameOf(d *chart.Dependency) string { return cmp.Or(d.Alias, d.Name) }

// pinned returns the version that a pin names, if the chart still allows it.
func pinned(d *chart.Dependency, pin bundle.Pin) string {
	version, ok := pin.Dependencies[nameOf(d)]
	if !ok || strings.HasPrefix(d.Repository, fileScheme) {
		return ""
	}
	if version == d.Version {
		return version
	}
	constraint, err := semver.NewConstraint(cmp.Or(d.Version, "*-0"))
	if err != nil {
		return ""
	}
	parsed, err := semver.NewVersion(version)
	if err != nil || !constraint.Check(parsed) {
		return ""
	}
	return version
}

// allDependencies returns the missing dependencies of a fetched chart, and of the unpacked charts
// in it, as Fleet does (internal/bundlereader/loaddirectory.go). Versions are by the path of the
// dependency: "redis", or "charts/web/redis".
func (f *Fetcher) allDependencies(ctx context.Context, files []bundle.File, pin bundle.Pin) ([]bundle.File, map[string]string, error) {
	var added []bundle.File
	var found map[string]string
	for _, folder := range chartFolders(files) {
		prefix := strings.TrimPrefix(folder+"/", "./")
		own := bundle.Pin{Dependencies: map[string]string{}}
		for name, version := range pin.Dependencies {
			if relative, ok := strings.CutPrefix(name, prefix); ok {
				own.Dependencies[relative] = version
			}
		}
		more, resolved, err := f.Dependencies(ctx, files, folder, own)
		if err != nil {
			return nil, nil, err
		}
		added = append(added, more...)
		for name, version := range resolved.Dependencies {
			if found == nil {
				found = map[string]string{}
			}
			found[prefix+name] = version
		}
	}
	return added, found, nil
}

// chartFolders returns "." and the folders of the charts in charts/, and in the charts/ of these.
func chartFolders(files []bundle.File) []string {
	folders := []string{"."}
	for _, file := range files {
		dir, name := path.Split(file.Name)
		parts := strings.Split(dir, "/") // "charts", "web", "" of charts/web/Chart.yaml.
		if name != chartutil.ChartfileName || len(parts)%2 == 0 || len(parts) == 1 {
			continue
		}
		isOne := true
		for i := 0; i < len(parts)-1; i += 2 {
			isOne = isOne && parts[i] == chartsDir
		}
		if isOne {
			folders = append(folders, path.Clean(dir))
		}
	}
	return folders
}

const fileScheme = "file://"

// dependency returns the files of one chart that another one depends on.
func (f *Fetcher) dependency(ctx context.Context, files []bundle.File,
	folder string, d *chart.Dependency, version string,
) ([]bundle.File, string, error) {
	address := strings.TrimSuffix(d.Repository, "/")
	switch {
	case address == "":
		return nil, "", &FetchError{URL: d.Name, Reason: NotFound, Err: errors.New("it has no repository and is not in charts/")}
	case strings.HasPrefix(address, "@"), strings.HasPrefix(address, "alias:"):
		return nil, "", &FetchError{
			URL: address, Reason: Malformed,
			Err: errors.New("an alias is known only on the machine where it was added; set the URL of the repository"),
		}
	case strings.HasPrefix(address, fileScheme):
		return beside(files, folder, d)
	case strings.HasPrefix(address, ociScheme+"://"):
		if problem := bundle.RefuseCredentials(address); problem != "" {
			return nil, "", &FetchError{URL: shown(address), Reason: Malformed, Err: errors.New(problem)}
		}
		files, found, err := f.registries.chart(ctx, address+"/"+d.Name, cmp.Or(version, d.Version), "")
		return files, found.Version, err
	}
	at, err := bundle.Chart{Repo: address, Name: d.Name}.Location()
	if err != nil {
		return nil, "", err
	}
	if ctx, err = f.access.admit(ctx, at.URL, at.Name); err != nil {
		return nil, "", err
	}
	return f.fromRepository(ctx, at.URL, at.Name, cmp.Or(version, d.Version))
}

// beside returns a dependency that is in another folder of the same files.
func beside(files []bundle.File, folder string, d *chart.Dependency) ([]bundle.File, string, error) {
	relative := strings.TrimPrefix(d.Repository, fileScheme)
	at := path.Join(folder, relative)
	missing := &FetchError{
		URL: d.Repository, Reason: NotFound,
		Err: errors.New("the bundle does not contain this chart, and nothing outside of the bundle is read"),
	}
	if path.IsAbs(relative) || at == ".." || strings.HasPrefix(at, "../") {
		return nil, "", missing
	}
	if strings.HasPrefix(folder+"/", at+"/") || at == "." {
		return nil, "", &FetchError{
			URL: d.Repository, Reason: Malformed,
			Err: errors.New("the folder of the dependency contains the chart that depends on it"),
		}
	}
	found := below(files, at)
	metadata, err := metadataOf(found, ".")
	if err != nil {
		return nil, "", err
	}
	if metadata.Version == "" {
		return nil, "", missing
	}
	allowed, err := semver.NewConstraint(cmp.Or(d.Version, "*-0"))
	if err != nil {
		return nil, "", checkConstraint(d.Repository, d.Version)
	}
	if version, err := semver.NewVersion(metadata.Version); err != nil || !allowed.Check(version) {
		return nil, "", noVersion(d.Repository, "the folder", d.Version, []string{metadata.Version})
	}
	return found, metadata.Version, nil
}

func contentOf(files []bundle.File, name string) ([]byte, bool) {
	i := slices.IndexFunc(files, func(file bundle.File) bool { return file.Name == name })
	if i < 0 {
		return nil, false
	}
	return files[i].Content, true
}

// metadataOf reads a Chart.yaml. Without one, the result is empty.
func metadataOf(files []bundle.File, folder string) (chart.Metadata, error) {
	var metadata chart.Metadata
	name := path.Join(folder, chartutil.ChartfileName)
	content, _ := contentOf(files, name)
	if err := yaml.Unmarshal(content, &metadata); err != nil {
		return metadata, &FetchError{URL: name, Reason: Malformed, Err: err}
	}
	return metadata, nil
}

// dependenciesOf reads the dependencies of a chart, also from the file of Helm 2.
func dependenciesOf(files []bundle.File, folder string) ([]*chart.Dependency, error) {
	metadata, err := metadataOf(files, folder)
	if err != nil || len(metadata.Dependencies) > 0 {
		return slices.DeleteFunc(metadata.Dependencies, func(d *chart.Dependency) bool { return d == nil }), err
	}
	name := path.Join(folder, requirementsFile)
	content, _ := contentOf(files, name)
	var old chart.Metadata
	if err := yaml.Unmarshal(content, &old); err != nil {
		return nil, &FetchError{URL: name, Reason: Malformed, Err: err}
	}
	return slices.DeleteFunc(old.Dependencies, func(d *chart.Dependency) bool { return d == nil }), nil
}

// isVendored reports whether a dependency is in charts/, as a folder or packed. As in Helm, its
// name decides (pkg/action/install.go, CheckDependencies).
func isVendored(files []bundle.File, folder string, d *chart.Dependency) bool {
	charts := path.Join(folder, chartsDir)
	return slices.ContainsFunc(files, func(file bundle.File) bool {
		name, ok := strings.CutPrefix(file.Name, charts+"/")
		if !ok {
			return false
		}
		below, base := path.Split(name)
		switch {
		case base == chartutil.ChartfileName && strings.Count(below, "/") == 1:
			var metadata chart.Metadata
			return yaml.Unmarshal(file.Content, &metadata) == nil && metadata.Name == d.Name
		case below == "" && strings.HasPrefix(base, d.Name+"-") && path.Ext(base) == ".tgz":
			if CheckPacked([]*loader.BufferedFile{{Name: file.Name, Data: file.Content}}) != nil {
				return false
			}
			packed, err := loader.LoadArchive(bytes.NewReader(file.Content))
			return err == nil && packed.Name() == d.Name
		}
		return false
	})
}

// lockOf returns the versions in a Chart.lock, if it was made for these dependencies. Any other
// Chart.lock is ignored; Fleet ignores all of them.
func lockOf(files []bundle.File, folder string, wanted []*chart.Dependency) map[string]string {
	content, ok := contentOf(files, path.Join(folder, "Chart.lock"))
	if !ok {
		content, ok = contentOf(files, path.Join(folder, "requirements.lock"))
	}
	var lock chart.Lock
	if !ok || yaml.Unmarshal(content, &lock) != nil || len(lock.Dependencies) != len(wanted) {
		return nil
	}
	// Helm writes this sum (internal/resolver/resolver.go), and checks nothing else to detect an
	// outdated lock.
	document, err := json.Marshal([2][]*chart.Dependency{wanted, lock.Dependencies})
	sum := sha256.Sum256(document)
	if err != nil || lock.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		return nil
	}
	versions := map[string]string{}
	for i, dependency := range lock.Dependencies {
		versions[nameOf(wanted[i])] = dependency.Version
	}
	return versions
}
