package bundle

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of place that a chart is fetched from.
type Kind int

// The kinds of places where charts are kept.
const (
	// Repository is a Helm repository: an index.yaml and archives.
	Repository Kind = iota
	// OCI is a registry of container images and charts.
	OCI
	// Archive is a tar or zip file under a URL.
	Archive
	// Git is a git repository.
	Git
)

// Location is the place where a chart is kept. Its forms are those of Fleet's
// internal/bundlereader/charturl.go and source.go.
type Location struct {
	Kind Kind
	// URL of the repository, of the chart in the registry, or of the archive.
	URL string
	// Name of the chart in a Repository.
	Name string
	// Version of the chart in a Repository or registry, or a constraint.
	Version string
	// Subdirectory of the archive or git repository that contains the chart.
	Subdirectory string
	// Ref of a git repository: a branch, a tag or a commit; "" is its HEAD.
	Ref string
	// Checksum of an archive, such as "sha256:0123…".
	Checksum string
	// Format of an archive: tar.gz, tar.bz2, tar.xz, tar.zst, tar or zip.
	Format string
}

// LocationError reports that helm.repo and helm.chart are not a valid address of a chart.
type LocationError struct {
	Chart Chart
	Err   string
}

func (e *LocationError) Error() string {
	if e.Chart.Repo != "" {
		return fmt.Sprintf("chart %q of helm.repo %q: %s", Shown(e.Chart.Name), Shown(e.Chart.Repo), e.Err)
	}
	return fmt.Sprintf("helm.chart %q: %s", Shown(e.Chart.Name), e.Err)
}

const ociScheme = "oci://"

// IsRemote reports whether the chart is an address, and not a folder of its bundle.
func (c Chart) IsRemote() bool {
	return c.Repo != "" || remoteChart.MatchString(c.Name)
}

var remoteChart = regexp.MustCompile(`^([a-z0-9+]+::|[a-z0-9+]+://|(github|gitlab)\.com/|bitbucket\.org/|[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:)`)

// Location reads the address of a chart. The error is a *LocationError.
func (c Chart) Location() (Location, error) {
	at, problem := c.location()
	if problem != "" {
		return Location{}, &LocationError{Chart: c, Err: problem}
	}
	return at, nil
}

func (c Chart) location() (at Location, problem string) {
	for _, address := range []string{c.Repo, c.Name} {
		if problem := RefuseCredentials(address); problem != "" {
			return Location{}, problem
		}
	}
	switch {
	case strings.HasPrefix(c.Repo, ociScheme):
		address := strings.TrimSuffix(c.Repo, "/")
		if c.Name != "" {
			return Location{}, "for a registry, set helm.repo to the whole address of the chart and leave helm.chart empty"
		}
		return inRegistry(address, c.Version)
	case c.Repo != "":
		return c.inRepository()
	case strings.HasPrefix(c.Name, ociScheme):
		return inRegistry(strings.TrimSuffix(c.Name, "/"), c.Version)
	case c.Name == "":
		return Location{}, "it contains no chart name"
	}
	return c.byURL()
}

func inRegistry(address, version string) (Location, string) {
	if parsed, err := url.Parse(address); err != nil || parsed.Host == "" || len(parsed.Path) < len("/x") {
		return Location{}, "the address of a chart in a registry is such as oci://ghcr.io/acme/web"
	}
	return Location{Kind: OCI, URL: address, Version: version}, ""
}

func (c Chart) inRepository() (Location, string) {
	parsed, err := url.Parse(c.Repo)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return Location{}, "the address of a Helm repository begins with https://, http:// or oci://"
	}
	if c.Name == "" {
		return Location{}, "helm.chart must be the name of a chart in the repository"
	}
	if remoteChart.MatchString(c.Name) {
		return Location{}, "helm.chart is a whole address, so helm.repo must be empty"
	}
	return Location{Kind: Repository, URL: strings.TrimSuffix(c.Repo, "/"), Name: c.Name, Version: c.Version}, ""
}

// byURL reads the address of an archive or a git repository, such as
// https://example.com/charts.tgz//web?checksum=sha256:01… or
// git::https://example.com/charts.git//web?ref=v1.
func (c Chart) byURL() (Location, string) {
	forced, address := forcedScheme(c.Name)
	if !slices.Contains([]string{"", "git", "ssh", "http", "https"}, forced) {
		return Location{}, fmt.Sprintf("the prefix %s:: is not supported", forced)
	}
	address, isGit := expand(address)
	if scp := scpForm.FindStringSubmatch(address); scp != nil {
		address, isGit = "ssh://"+scp[1]+"/"+scp[2], true
	}
	isGit = isGit || forced == "git" || forced == "ssh"
	parsed, err := url.Parse(address)
	if err != nil {
		return Location{}, "it is not a valid URL"
	}
	isGit = isGit || parsed.Scheme == "ssh" || parsed.Scheme == "git"
	at := Location{Kind: Archive, Version: c.Version}
	if parsed.Path, at.Subdirectory = splitSubdirectory(parsed.Path); at.Subdirectory != "" && !fs.ValidPath(at.Subdirectory) {
		return Location{}, "the folder after // is outside of the archive or repository"
	}
	query := parsed.Query()
	at.Ref, at.Checksum = query.Get("ref"), strings.ToLower(query.Get("checksum"))
	at.Format = strings.ToLower(strings.TrimPrefix(query.Get("archive"), "."))
	if depth := query.Get("depth"); depth != "" {
		if _, err := strconv.Atoi(depth); err != nil {
			return Location{}, "depth must be a number"
		}
	}
	for _, own := range []string{"ref", "checksum", "archive", "depth"} {
		query.Del(own)
	}
	parsed.RawQuery = query.Encode()
	at.URL = parsed.String()
	if parsed.Host == "" && parsed.Scheme != "file" {
		return Location{}, "it has no host"
	}
	if isGit && !slices.Contains([]string{"https", "http", "ssh", "git"}, parsed.Scheme) {
		return Location{}, fmt.Sprintf("the scheme %s:// is not supported", parsed.Scheme)
	}
	if isGit {
		at.Kind = Git
		at.Checksum = ""
		at.Format = ""
		return at, ""
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return Location{}, fmt.Sprintf("the scheme %s:// is not supported", parsed.Scheme)
	}
	if at.Format == "" {
		at.Format = formatOf(strings.ToLower(parsed.Path))
	}
	at.Format = formats[at.Format]
	return at, at.checked()
}

// checked returns what is wrong with the address of an archive, "" if it is valid.
func (l Location) checked() string {
	if l.Format == "" {
		return "it is not an archive: its name must end in .tgz, .tar.gz, .tar.bz2, .tar.xz, .tar.zst, .tar or .zip, or archive= " +
			"must be one of these; for a git repository, prefix the address with git::"
	}
	if l.Checksum != "" && !checksum.MatchString(l.Checksum) {
		return "checksum must be md5:, sha1:, sha256: or sha512:, followed by hexadecimal digits"
	}
	return ""
}

var (
	checksum = regexp.MustCompile(`^(md5:[0-9a-f]{32}|sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
	scpForm  = regexp.MustCompile(`^([A-Za-z0-9_.-]+@[A-Za-z0-9.-]+):/?([^/].*)$`)
)

// formats are the formats of archives by their file extensions.
//
//nolint:gochecknoglobals // a table
var formats = map[string]string{
	"tar.gz": "tar.gz", "tgz": "tar.gz",
	"tar.bz2": "tar.bz2", "tbz2": "tar.bz2",
	"tar.xz": "tar.xz", "txz": "tar.xz",
	"tar.zst": "tar.zst", "tar.zstd": "tar.zst", "tzst": "tar.zst",
	"tar": "tar", "zip": "zip",
}

func formatOf(name string) string {
	longest := ""
	for extension := range formats {
		if strings.HasSuffix(name, "."+extension) && len(extension) > len(longest) {
			longest = extension
		}
	}
	return longest
}

// forcedScheme splits "git::https://…" into "git" and the rest.
func forcedScheme(address string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(address, "::")
	if !found || strings.ContainsAny(scheme, "/:@") {
		return "", address
	}
	return scheme, rest
}

// expand writes out the short forms of well-known hosts, which are git
// repositories: github.com/acme/charts//web.
func expand(address string) (string, bool) {
	for _, host := range []string{"github.com/", "gitlab.com/", "bitbucket.org/"} {
		rest, ok := strings.CutPrefix(address, host)
		if !ok {
			continue
		}
		const ownerAndName = 3
		parts := strings.SplitN(rest, "/", ownerAndName)
		if len(parts) < ownerAndName-1 || parts[0] == "" || parts[1] == "" {
			return address, false
		}
		repository, query, hasQuery := strings.Cut(parts[1], "?")
		expanded := "https://" + host + parts[0] + "/" + strings.TrimSuffix(repository, ".git") + ".git"
		if hasQuery {
			return expanded + "?" + query, true
		}
		if len(parts) == ownerAndName {
			expanded += "//" + strings.TrimLeft(parts[2], "/")
		}
		return expanded, true
	}
	return address, false
}

// splitSubdirectory splits "/charts.tgz//web" at its double slash.
func splitSubdirectory(name string) (before, subdirectory string) {
	before, subdirectory, _ = strings.Cut(name, "//")
	if subdirectory = path.Clean(strings.Trim(subdirectory, "/")); subdirectory == "." {
		return before, ""
	}
	return before, subdirectory
}
