package bundle_test

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

func TestLocation(t *testing.T) {
	t.Parallel()
	sum := "sha256:" + strings.Repeat("0f", 32)
	tests := []struct {
		name  string
		chart bundle.Chart
		want  bundle.Location
	}{
		{"repository", bundle.Chart{Repo: "https://charts.example.com/stable/", Name: "web", Version: "~1.2"}, bundle.Location{Kind: bundle.Repository, URL: "https://charts.example.com/stable", Name: "web", Version: "~1.2"}},
		{"registry as repo", bundle.Chart{Repo: "oci://ghcr.io/acme/web", Version: "1.2.3"}, bundle.Location{Kind: bundle.OCI, URL: "oci://ghcr.io/acme/web", Version: "1.2.3"}},
		{"registry as chart", bundle.Chart{Name: "oci://ghcr.io/acme/web"}, bundle.Location{Kind: bundle.OCI, URL: "oci://ghcr.io/acme/web"}},
		{"archive", bundle.Chart{Name: "https://example.com/web-1.2.3.tgz"}, bundle.Location{Kind: bundle.Archive, URL: "https://example.com/web-1.2.3.tgz", Format: "tar.gz"}},
		{"archive with checksum and folder", bundle.Chart{Name: "https://example.com/all.tar.xz//charts/web?checksum=" + sum}, bundle.Location{Kind: bundle.Archive, URL: "https://example.com/all.tar.xz", Subdirectory: "charts/web", Checksum: sum, Format: "tar.xz"}},
		{"archive that says so", bundle.Chart{Name: "https://example.com/download?id=7&archive=zip"}, bundle.Location{Kind: bundle.Archive, URL: "https://example.com/download?id=7", Format: "zip"}},
		{"archive with a dot", bundle.Chart{Name: "https://example.com/download?archive=.TGZ"}, bundle.Location{Kind: bundle.Archive, URL: "https://example.com/download", Format: "tar.gz"}},
		{"archive in capitals", bundle.Chart{Name: "https://example.com/WEB.TAR.ZSTD?checksum=" + strings.ToUpper(sum)}, bundle.Location{Kind: bundle.Archive, URL: "https://example.com/WEB.TAR.ZSTD", Checksum: sum, Format: "tar.zst"}},
		{"forced http", bundle.Chart{Name: "http::http://example.com/web.tar"}, bundle.Location{Kind: bundle.Archive, URL: "http://example.com/web.tar", Format: "tar"}},
		{"git", bundle.Chart{Name: "git::https://example.com/charts.git//web?ref=v1&depth=1"}, bundle.Location{Kind: bundle.Git, URL: "https://example.com/charts.git", Subdirectory: "web", Ref: "v1"}},
		{"git over ssh", bundle.Chart{Name: "git::ssh://git@example.com/acme/charts.git//web"}, bundle.Location{Kind: bundle.Git, URL: "ssh://git@example.com/acme/charts.git", Subdirectory: "web"}},
		{"scp form", bundle.Chart{Name: "git@example.com:acme/charts.git//web?ref=main"}, bundle.Location{Kind: bundle.Git, URL: "ssh://git@example.com/acme/charts.git", Subdirectory: "web", Ref: "main"}},
		{"scp form from the root", bundle.Chart{Name: "git::git@example.com:/acme/charts.git"}, bundle.Location{Kind: bundle.Git, URL: "ssh://git@example.com/acme/charts.git"}},
		{"short form", bundle.Chart{Name: "github.com/acme/charts//web?ref=v2"}, bundle.Location{Kind: bundle.Git, URL: "https://github.com/acme/charts.git", Subdirectory: "web", Ref: "v2"}},
		{"short form of a folder", bundle.Chart{Name: "gitlab.com/acme/charts/web"}, bundle.Location{Kind: bundle.Git, URL: "https://gitlab.com/acme/charts.git", Subdirectory: "web"}},
		{"short form without a folder", bundle.Chart{Name: "github.com/acme/charts?ref=v2"}, bundle.Location{Kind: bundle.Git, URL: "https://github.com/acme/charts.git", Ref: "v2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !tt.chart.IsRemote() {
				t.Error("the chart counts as a folder")
			}
			got, err := tt.chart.Location()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLocationErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		chart bundle.Chart
		want  string
	}{
		{"no chart in the repository", bundle.Chart{Repo: "https://charts.example.com"}, "must be the name of a chart"},
		{"repository of another kind", bundle.Chart{Repo: "ftp://charts.example.com", Name: "web"}, "begins with https://"},
		{"repository and address", bundle.Chart{Repo: "https://charts.example.com", Name: "https://example.com/a.tgz"}, "helm.repo must be empty"},
		{"registry and name", bundle.Chart{Repo: "oci://ghcr.io/acme", Name: "web"}, "leave helm.chart empty"},
		{"no archive", bundle.Chart{Name: "https://example.com/charts"}, "git::"},
		{"key", bundle.Chart{Name: "git::ssh://git@example.com/a.git?sshkey=c2VjcmV0"}, "configure it in the provider"},
		{"folder above", bundle.Chart{Name: "git::https://example.com/a.git//../../etc"}, "outside of the archive or repository"},
		{"checksum", bundle.Chart{Name: "https://example.com/a.tgz?checksum=sha256:12"}, "checksum"},
		{"git without a server", bundle.Chart{Name: "git::"}, "has no host"},
		{"archive without a server", bundle.Chart{Name: "https:///web.tgz"}, "has no host"},
		{"git by another scheme", bundle.Chart{Name: "git::s3://example.com/a.git"}, "s3://"},
		{"git in a file", bundle.Chart{Name: "git::file:///srv/a.git"}, "file://"},
		{"registry without a server", bundle.Chart{Repo: "oci://"}, "such as oci://"},
		{"registry without a chart", bundle.Chart{Name: "oci://ghcr.io"}, "such as oci://"},
		{"scheme", bundle.Chart{Name: "s3::https://example.com/a.tgz"}, "s3::"},
		{"file", bundle.Chart{Name: "file:///etc/passwd"}, "file://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.chart.Location()
			if wrong, ok := errors.AsType[*bundle.LocationError](err); !ok || !strings.Contains(wrong.Error(), tt.want) {
				t.Errorf("Location: %v, want an error about %q", err, tt.want)
			}
		})
	}
}

// An address with a credential is refused, and the credential is not repeated.
func TestLocationRefusesCredentials(t *testing.T) {
	t.Parallel()
	tests := map[string]bundle.Chart{
		"user and password":           {Name: "https://token:s3cret@example.com/charts.tgz"}, //nolint:gosec // no real password
		"token as user":               {Name: "https://s3cret@example.com/charts.tgz"},
		"repository":                  {Repo: "https://user:s3cret@charts.example.com", Name: "web"}, //nolint:gosec // no real password
		"token of a repository":       {Repo: "https://charts.example.com?token=s3cret", Name: "web"},
		"registry":                    {Repo: "oci://user:s3cret@ghcr.io/acme/web"}, //nolint:gosec // no real password
		"registry by name":            {Name: "oci://s3cret@ghcr.io/acme/web"},
		"registry with a query":       {Name: "oci://ghcr.io/acme/web?token=s3cret"},
		"git":                         {Name: "git::https://user:s3cret@example.com/a.git"}, //nolint:gosec // no real password
		"git, token as user":          {Name: "git::https://s3cret@example.com/a.git//web?ref=v1"},
		"git by ssh":                  {Name: "git::ssh://git:s3cret@example.com/a.git"}, //nolint:gosec // no real password
		"git by ssh, short":           {Name: "git::git:s3cret@example.com:a.git"},
		"key":                         {Name: "git::ssh://git@example.com/a.git?sshkey=s3cret"},
		"key in capitals":             {Name: "git::ssh://git@example.com/a.git?ref=v1&SSHKey=s3cret"},
		"short form of a host":        {Name: "github.com/acme/charts?token=s3cret"},
		"signature":                   {Name: "https://bucket.example.com/web.tgz?X-Amz-Signature=s3cret"},
		"escaped name":                {Name: "https://example.com/web.tgz?%74oken=s3cret"},
		"no URL":                      {Name: "https://user:s3/s3cret@example.com/web.tgz"},
		"no URL, with a query":        {Name: "git::https://example.com:port/a.git?private_token=s3cret"},
		"in an address without fetch": {Name: "s3::https://user:s3cret@example.com/a.tgz"}, //nolint:gosec // no real password
	}
	for name, chart := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.Location()
			if wrong, ok := errors.AsType[*bundle.LocationError](err); !ok || strings.Contains(wrong.Error(), "s3cret") {
				t.Errorf("Location: %v", err)
			}
		})
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://user:pa/ss@example.com/a?b=c#d":  "https://example.com/a?…",
		"https://example.com/a":                   "https://example.com/a",
		"git::ssh://git@example.com/a.git?ref=v1": "git::ssh://git@example.com/a.git?…",
		"ssh://git:s3cret@example.com/a.git":      "ssh://example.com/a.git",
		"git@example.com:a.git":                   "git@example.com:a.git",
		"git:s3cret@example.com:a.git":            "example.com:a.git",
		"git::git:s3cret@example.com:a.git":       "git::example.com:a.git",
		"web":                                     "web",
	}
	for address, want := range tests {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if got := bundle.Shown(address); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestIsRemote(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "charts/web", "web-1.2.3.tgz", "../web", "a:b"} {
		if (bundle.Chart{Name: name}).IsRemote() {
			t.Errorf("%q counts as an address", name)
		}
	}
}

func FuzzLocation(f *testing.F) {
	for _, seed := range []string{"git::https://a/b.git//c?ref=d", "github.com/a/b", "git@a:b", "oci://a/b", "https://a/b.tgz?checksum=md5:00", "::", "a://b//c//d", "https://a/%zz"} {
		f.Add("", seed)
	}
	f.Add("https://a", "b")
	f.Fuzz(func(t *testing.T, repo, name string) {
		at, err := bundle.Chart{Repo: repo, Name: name}.Location()
		if err != nil {
			return
		}
		if problem := bundle.RefuseCredentials(at.URL); problem != "" {
			t.Errorf("%q, %q leads to %q: %s", repo, name, at.URL, problem)
		}
		if parsed, err := url.Parse(at.URL); err != nil || parsed.Host == "" {
			t.Errorf("%q, %q leads to %q: %v", repo, name, at.URL, err)
		}
		if at.Subdirectory != "" && !fs.ValidPath(at.Subdirectory) {
			t.Errorf("%q, %q is %+v", repo, name, at)
		}
	})
}
