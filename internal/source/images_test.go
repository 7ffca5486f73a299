package source_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// newImageStore returns an empty store, as in another process. It reads images of a registry over
// plain HTTP.
func newImageStore(t *testing.T, server *charttest.Server) *source.Store {
	t.Helper()
	fetcher, err := chart.NewFetcher(chart.FetchConfig{Boundary: naming(t, server.RegistryURL("")), Registries: map[string]chart.Registry{
		server.RegistryURL("acme"): {PlainHTTP: true, Username: "ci", Password: secret.Hide("s3cret-word")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	describe := func(*bundle.Bundle) (name, version string, err error) { return "none", "0", nil }
	return source.New(source.Config{Charts: fetcher, PublicCharts: fetcher, Images: fetcher, PublicImages: fetcher, Describe: describe})
}

// scanned returns a folder with two bundles. Lines in both are marked with the scan of one of them.
func scanned(t *testing.T, name string) source.Request {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"web/fleet.yaml":  fmt.Sprintf("imageScans:\n- image: %s\n  tagName: web\n  policy: {semver: {range: 1.x}}\n", name),
		"web/config.yaml": "image: old # {\"$imagescan\": \"web\"}\n",
		"job/config.yaml": "image: old # {\"$imagescan\": \"web:digest\"}\n",
		"other/data.yaml": "image: old\n",
	})
	return source.Request{Spec: source.Spec{Directory: dir, Read: &bundle.ReadOptions{RepoName: "r", Paths: []string{"*"}, ImageScans: true}}}
}

func imageOf(server *charttest.Server, repository string) string {
	return strings.TrimPrefix(server.RegistryURL(repository), "oci://")
}

func contents(t *testing.T, store *source.Store, elements map[string]source.Element) map[string]string {
	t.Helper()
	lines := map[string]string{}
	for name, element := range elements {
		found, err := store.Bundle(t.Context(), element.Descriptor, element.Digest)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found.Files {
			text, _, _ := strings.Cut(string(file.Content), " #")
			lines[name] = strings.TrimSpace(text)
		}
	}
	return lines
}

func TestImageScans(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word", Bearer: true})
	for _, tag := range []string{"1.0.0", "1.9.0", "1.10.0", "2.0.0", "latest"} {
		server.PushImage("acme/web", tag)
	}
	name := imageOf(server, "acme/web")
	request, store := scanned(t, name), newImageStore(t, server)

	// A first plan finds the tags. They can change until the apply, so nothing is pinned.
	planned, err := store.Plan(t.Context(), request, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, element := range planned.Elements {
		if element.Descriptor != "" {
			t.Errorf("the descriptor of %s is known in a first plan", name)
		}
	}
	request.Images = planned.Images
	settled, err := store.ResolveUnknown(t.Context(), request, planned.Elements, false, "")
	if err != nil {
		t.Fatal(err)
	}
	digest := server.Reference("acme/web", "1.10.0")
	want := map[string]string{"r-web": "image: " + name + ":1.10.0", "r-job": "image: " + name + ":1.10.0@" + digest, "r-other": "image: old"}
	// Another process makes the same bundles from the descriptors, without a registry.
	if diff := cmp.Diff(want, contents(t, source.New(source.Config{}), settled.Elements)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}

	// A plan uses the tag in state even if the registry has a newer one. A refresh finds the newer
	// one.
	server.PushImage("acme/web", "1.11.0")
	request.Prior, request.Known = settled.Elements, settled.Elements
	store = newImageStore(t, server)
	requests := server.Requests("/v2/")
	if planned, err = store.Plan(t.Context(), request, ""); err != nil || planned.Changed {
		t.Errorf("a plan without a refresh: changed %t, %v", planned.Changed, err)
	}
	if got := server.Requests("/v2/"); got != requests {
		t.Errorf("%d requests in a plan without a refresh", got-requests)
	}
	var failed []error
	if request.Images, failed = store.RefreshImages(t.Context(), request.Spec, planned.Images); len(failed) > 0 {
		t.Fatal(failed)
	}
	if planned, err = store.Plan(t.Context(), request, ""); err != nil {
		t.Fatal(err)
	}
	want["r-web"], want["r-job"] = "image: "+name+":1.11.0", "image: "+name+":1.11.0@"+server.Reference("acme/web", "1.11.0")
	if diff := cmp.Diff(want, contents(t, store, planned.Elements)); diff != "" {
		t.Errorf("lines after a refresh (-want +got):\n%s", diff)
	}
	if planned.Elements["r-other"] != settled.Elements["r-other"] {
		t.Error("a bundle without marked lines has changed")
	}

	// A tag that cannot be looked up is kept.
	server.DeleteManifest("acme/web", "1.11.0")
	store = newImageStore(t, server)
	server.Break("/v2/acme/web/tags/list", charttest.Truncate)
	kept, failed := store.RefreshImages(t.Context(), request.Spec, request.Images)
	if _, isImage := errors.AsType[*source.ImageError](errors.Join(failed...)); !isImage {
		t.Errorf("errors %v, want an *ImageError", failed)
	}
	if diff := cmp.Diff(request.Images, kept); diff != "" {
		t.Errorf("images (-before +after):\n%s", diff)
	}
}

func TestImageScansThatFail(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word"})
	server.PushImage("acme/web", "1.0.0")
	server.PushImage("acme/old", "0.1.0")
	name := imageOf(server, "acme/web")
	scan := func(image, tag string) string {
		return fmt.Sprintf("imageScans: [{image: %s, tagName: %s, policy: {semver: {range: 1.x}}}]\n", image, tag)
	}
	var many strings.Builder
	many.WriteString("imageScans:\n")
	for i := range 101 {
		fmt.Fprintf(&many, "- {image: %s, tagName: web%d}\n", name, i)
	}
	tests := map[string]struct {
		a, b  string
		wrong string
	}{
		"no tag in the range":  {a: scan(imageOf(server, "acme/old"), "web"), wrong: `none of its 1 tags is a version in the range "1.x"`},
		"no such image":        {a: scan(imageOf(server, "acme/none"), "web"), wrong: "not found"},
		"one name, two images": {a: scan(name, "web"), b: scan(name, "web"), wrong: "the tagName must be unique in a repository, and bundles r-a and r-b use it"},
		"too many":             {a: many.String(), wrong: "the repository has more than 100 imageScans"},
		"other credentials":    {a: scan(imageOf(server, "other/web"), "web"), wrong: "HTTPS"},
	}
	for testName, test := range tests {
		t.Run(testName, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"a/fleet.yaml": test.a, "a/data.yaml": "a: b\n", "b/fleet.yaml": test.b, "b/data.yaml": "a: b\n"})
			request := source.Request{Spec: source.Spec{Directory: dir, Read: &bundle.ReadOptions{RepoName: "r", Paths: []string{"*"}, ImageScans: true}}}
			store := newImageStore(t, server)
			_, err := store.Plan(t.Context(), request, "")
			if _, isImage := errors.AsType[*source.ImageError](err); !isImage || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("error %v, want %q", err, test.wrong)
			}
			// With on_error = "hold", bundles are not changed.
			before := source.Element{Digest: "d", Descriptor: "x"}
			request.Spec.Read.Hold, request.HoldBroken = true, map[string]source.Element{"r-a": before}
			planned, err := store.Plan(t.Context(), request, "")
			if err != nil || len(planned.Broken) == 0 {
				t.Errorf("held: broken %v, error %v", planned.Broken, err)
			}
			if diff := cmp.Diff(request.HoldBroken, planned.Elements); diff != "" {
				t.Errorf("held (-before +after):\n%s", diff)
			}
		})
	}
}

func TestStoredImages(t *testing.T) {
	t.Parallel()
	if images, err := source.DecodeImages(nil); err != nil || images != nil {
		t.Errorf("nothing is %v, %v", images, err)
	}
	raw, err := source.EncodeImages(nil)
	if err != nil || string(raw) != "[]" {
		t.Errorf("no images are %s, %v", raw, err)
	}
	if _, err := source.DecodeImages([]byte("{")); err == nil {
		t.Error("damaged images are read")
	}
}

func TestSuspendedImageScan(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word"})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"web/fleet.yaml":  "imageScans: [{image: " + imageOf(server, "acme/web") + ", tagName: web, suspend: true}]\n",
		"web/config.yaml": "image: old # {\"$imagescan\": \"web\"}\n",
	})
	request := source.Request{Spec: source.Spec{Directory: dir, Read: &bundle.ReadOptions{RepoName: "r", Paths: []string{"*"}, ImageScans: true}}}
	store := newImageStore(t, server)
	planned, err := store.Plan(t.Context(), request, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"r-web": "image: old"}, contents(t, store, planned.Elements)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if requests := server.Requests("/v2/"); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// If a folder is broken, lines in other folders keep the tags of its scans.
func TestImageScansOfABrokenFolder(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word"})
	server.PushImage("acme/web", "1.0.0")
	request, store := scanned(t, imageOf(server, "acme/web")), newImageStore(t, server)
	settled, err := store.ResolveUnknown(t.Context(), request, nil, true, "")
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, request.Spec.Directory, map[string]string{"web/fleet.yaml": "helm: {releaseName: [1]}\n"})
	request.Images, request.Spec.Read.Hold = settled.Images, true
	request.Prior, request.Known, request.HoldBroken = settled.Elements, settled.Elements, settled.Elements
	planned, err := newImageStore(t, server).Plan(t.Context(), request, "")
	if err != nil || len(planned.Broken) != 1 {
		t.Fatalf("broken %v, error %v", planned.Broken, err)
	}
	if diff := cmp.Diff(settled.Elements, planned.Elements); diff != "" || planned.Changed {
		t.Errorf("changed %t, bundles (-before +after):\n%s", planned.Changed, diff)
	}
	if diff := cmp.Diff(settled.Images, planned.Images); diff != "" {
		t.Errorf("images (-before +after):\n%s", diff)
	}
}

// HelmRepoURLRegex limits credentials for images, too.
func TestImageCredentialsWhereTheExpressionMatches(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word"})
	server.PushImage("acme/web", "1.0.0")
	fetcher := func(username, password string) *chart.Fetcher {
		made, err := chart.NewFetcher(chart.FetchConfig{Boundary: naming(t, server.RegistryURL("")), Registries: map[string]chart.Registry{
			server.RegistryURL("acme"): {PlainHTTP: true, Username: username, Password: secret.Hide(password)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := made.Close(); err != nil {
				t.Error(err)
			}
		})
		return made
	}
	known := []source.ScannedImage{{Scan: source.ImageScan{TagName: "web", Image: imageOf(server, "acme/web")}}}
	for expression, refused := range map[string]bool{"": false, "oci://127": false, "https://": true, "127": true} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			store := source.New(source.Config{Images: fetcher("ci", "s3cret-word"), PublicImages: fetcher("", "")})
			found, failed := store.RefreshImages(t.Context(), source.Spec{HelmRepoURLRegex: expression}, known)
			if err := errors.Join(failed...); refused != (err != nil && strings.Contains(err.Error(), string(chart.Unauthorized))) || !refused && found[0].Tag.Tag != "1.0.0" {
				t.Errorf("found %+v, error %v, want refused %t", found, err, refused)
			}
		})
	}
}
