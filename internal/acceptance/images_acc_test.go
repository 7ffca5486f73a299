package acceptance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

func imageRegistry(server *charttest.Server, password string) string {
	return fmt.Sprintf("  registries = {\n    %q = { username = \"ci\", password = %q, plain_http = true }\n  }\n", server.RegistryURL("acme"), password)
}

// The newest tag is found by each policy, with the credentials of the provider.
func TestAccImageTags(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word", Bearer: true})
	for _, tag := range []string{"1.9.0", "1.10.0", "2.0.0-rc.1", "main-aa-9", "main-bb-10", "latest"} {
		server.PushImage("acme/web", tag)
	}
	name := strings.TrimPrefix(server.RegistryURL("acme/web"), "oci://")
	tests := []struct{ name, policy, want string }{
		{"default", "", "1.10.0"},
		{"semver", "policy = { semver = { range = \"~1.9\" } }", "1.9.0"},
		{"pre", "policy = { semver = { range = \">=1.0.0-0\" } }", "2.0.0-rc.1"},
		{"alphabetical", "policy = { alphabetical = {} }\n  filter = \"^main-\"", "main-bb-10"},
		{"first", "policy = { alphabetical = { order = \"asc\" } }", "1.10.0"},
		{"numerical", "policy = { numerical = {} }\n  filter = \"^main-[a-f]+-([0-9]+)$\"", "main-bb-10"},
	}
	var config strings.Builder
	for _, test := range tests {
		fmt.Fprintf(&config, "data \"fleet_image_tags\" %q {\n  image = %q\n  %s\n}\noutput %q { value = data.fleet_image_tags.%s }\n", test.name, name, test.policy, test.name, test.name)
	}
	w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n"+imageRegistry(server, "s3cret-word")+"}\n", config.String())
	w.apply(t)
	type tags struct {
		Repository, Tag, Digest, Reference string
		Tags                               []string
	}
	for _, test := range tests {
		var got tags
		if err := json.Unmarshal([]byte(w.run(t, "output", "-json", test.name)), &got); err != nil {
			t.Fatal(err)
		}
		digest := server.Reference("acme/web", test.want)
		want := tags{Repository: name, Tag: test.want, Digest: digest, Reference: name + ":" + test.want + "@" + digest, Tags: got.Tags}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if len(got.Tags) == 0 || got.Tags[0] != test.want {
			t.Errorf("%s: tags %q", test.name, got.Tags)
		}
	}

	w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n"+imageRegistry(server, "wrong")+"}\n", config.String())
	if output := w.fail(t, []string{"plan"}, "Cannot find the newest tag of "+name, "the server refused the credentials", "registries"); strings.Contains(output, "s3cret-word") {
		t.Error("the password can be read")
	}
	for policy, want := range map[string]string{
		"policy = { semver = { range = \"newest\" } }":            "The range of semantic versions cannot be read",
		"policy = { semver = { range = \"~7\" } }":                "None of its 6 tags is a version in the range \"~7\"",
		"policy = {\n    semver = {}\n    alphabetical = {}\n  }": "Invalid Attribute Combination",
		"filter = \"(\"": "regular expression",
	} {
		w.configure(t, "provider \"fleet\" {\n  owner = \"acc\"\n"+imageRegistry(server, "s3cret-word")+"}\n",
			fmt.Sprintf("data \"fleet_image_tags\" \"web\" {\n  image = %q\n  %s\n}\n", name, policy))
		w.fail(t, []string{"plan"}, want)
	}
}

// imageScansStory is a repository whose config map has the image of a scan.
type imageScansStory struct {
	w      *workspace
	s      *fixture
	server *charttest.Server
	git    *gittest.Server
	name   string
}

func (o imageScansStory) configure(t *testing.T, extra string) {
	t.Helper()
	o.w.configure(t, o.s.provider(imageRegistry(o.server, "s3cret-word"), on), fmt.Sprintf(
		"resource \"fleet_gitrepo\" \"fleet\" {\n  name   = \"fleet\"\n  repo   = %q\n  branch = \"main\"\n  %s\n}\n", o.git.URL("fleet"), extra), target("", "fleet_gitrepo.fleet.bundles"))
}

func (o imageScansStory) commit(t *testing.T, policy string) {
	t.Helper()
	files := map[string]string{
		"web/fleet.yaml": fmt.Sprintf("defaultNamespace: %s\nimageScans:\n- image: %s\n  tagName: web\n  interval: 5m\n  policy: %s\n", o.s.namespace, o.name, policy),
		"web/cm.yaml":    strings.Replace(configMap("web", "old"), "\"old\"", "\"old\" # {\"$imagescan\": \"web:digest\"}", 1),
		"db/fleet.yaml":  "defaultNamespace: " + o.s.namespace + "\n",
		"db/cm.yaml":     configMap("db", "1"),
	}
	if _, err := o.git.Commit(t.Context(), "fleet", "main", "Change", files); err != nil {
		t.Fatal(err)
	}
}

func (o imageScansStory) expect(t *testing.T, tag string) {
	t.Helper()
	want := o.name + ":" + tag + "@" + o.server.Reference("acme/web", tag)
	if got := o.s.value(t, 0, "web"); got != want {
		t.Errorf("the image is %q, want %q", got, want)
	}
}

// Marked lines get the newest tag. A plan shows it, a saved plan deploys what it shows, and a
// registry that does not respond changes nothing.
func TestAccImageScans(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word", Bearer: true})
	server.PushImage("acme/web", "1.0.0")
	o := imageScansStory{w: w, s: s, server: server, git: gittest.New(t, gittest.Options{}), name: strings.TrimPrefix(server.RegistryURL("acme/web"), "oci://")}
	o.commit(t, "{semver: {range: 1.x}}")

	o.configure(t, "")
	w.fail(t, []string{"apply", "-auto-approve"}, "imageScans need image_scans = true")
	o.configure(t, "image_scans = true")
	w.apply(t)
	o.expect(t, "1.0.0")
	w.expectEmptyPlan(t)

	server.PushImage("acme/web", "1.1.0")
	server.PushImage("acme/web", "2.0.0")
	if diff := cmp.Diff([]string{"~ a/fleet-web"}, w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if text := w.run(t, "plan", "-input=false"); !strings.Contains(unwrapped(text), o.name+":1.1.0@") {
		t.Errorf("the plan does not show the image:\n%s", text)
	}
	server.PushImage("acme/web", "1.2.0")
	w.run(t, "apply", "-input=false", "tfplan")
	o.expect(t, "1.1.0")
	w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")
	o.expect(t, "1.1.0")
	w.apply(t)
	o.expect(t, "1.2.0")

	// The new policy finds another tag, and the same commit moves the branch.
	o.commit(t, "{alphabetical: {order: desc}}")
	w.apply(t)
	o.expect(t, "2.0.0")
	w.expectEmptyPlan(t)

	server.Break("/v2/acme/web/tags/list", charttest.Truncate)
	server.PushImage("acme/web", "3.0.0")
	if output := unwrapped(w.expectEmptyPlan(t)); !strings.Contains(output, "Cannot check for new image tags of fleet") {
		t.Errorf("no warning:\n%s", output)
	}
	w.apply(t)
	o.expect(t, "2.0.0")
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
