package acceptance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// initialise prepares a backend with settings from the command line or from the environment. The
// provider is in no registry, which does not matter once the backend is prepared.
func (w *workspace) initialise(t *testing.T, backend string, args ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, "main.tf")); err != nil {
		t.Fatal(err)
	}
	w.write(t, "backend.tf", fmt.Sprintf("terraform {\n  backend %q {}\n}\n", backend))
	if output, err := w.try(t, append([]string{"init", "-input=false", "-reconfigure"}, args...)...); err != nil && !strings.Contains(output, "Successfully configured the backend") {
		t.Fatalf("terraform init: %v\n%s", err, output)
	}
}

// Another state, in the same folder or with the same names elsewhere, does not take over the
// releases of production. So its destroy does not remove them.
func TestAttackAnotherState(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	type place struct {
		// first prepares the place of the production state.
		first func(t *testing.T, w *workspace)
		// steal applies and destroys with another state, and returns the output.
		steal func(t *testing.T, w *workspace, config []string) string
	}
	nothing := func(*testing.T, *workspace) {}
	at := func(t *testing.T, w *workspace, address string) {
		t.Helper()
		w.env = append(w.env, "TF_HTTP_ADDRESS="+address)
		w.initialise(t, "http")
	}
	tests := map[string]place{
		"terraform test": {first: nothing, steal: func(t *testing.T, w *workspace, _ []string) string {
			t.Helper()
			w.write(t, "tests/steal.tftest.hcl", "run \"deploys\" {\n  command = apply\n}\n")
			return w.output(t, "test")
		}},
		"another state file": {first: nothing, steal: func(t *testing.T, w *workspace, _ []string) string {
			t.Helper()
			output := w.applyOutput(t, "-state=other.tfstate")
			w.destroyOutput(t, "-state=other.tfstate")
			return output
		}},
		"backends from the environment": {first: func(t *testing.T, w *workspace) {
			t.Helper()
			at(t, w, newStateServer(t).URL)
		}, steal: func(t *testing.T, _ *workspace, config []string) string {
			t.Helper()
			thief := newWorkspace(t)
			at(t, thief, newStateServer(t).URL)
			thief.configure(t, config...)
			output := thief.applyOutput(t)
			thief.destroyOutput(t)
			return output
		}},
		"two paths of the local backend": {first: func(t *testing.T, w *workspace) {
			t.Helper()
			w.initialise(t, "local", "-backend-config=path=production.tfstate")
		}, steal: func(t *testing.T, w *workspace, config []string) string {
			t.Helper()
			w.initialise(t, "local", "-backend-config=path=other.tfstate")
			w.configure(t, config...)
			output := w.applyOutput(t)
			w.destroyOutput(t)
			w.initialise(t, "local", "-backend-config=path=production.tfstate")
			w.configure(t, config...)
			return output
		}},
		"a removed state": {first: nothing, steal: func(t *testing.T, w *workspace, _ []string) string {
			t.Helper()
			state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			w.forget(t)
			output := w.applyOutput(t)
			w.destroyOutput(t)
			w.write(t, "terraform.tfstate", string(state))
			return output
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			test.first(t, w)
			config := []string{s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
			w.configure(t, config...)
			w.apply(t)
			before, objects := s.releases(t, 0), s.uids(t)
			output := test.steal(t, w, config)
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases of production (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects of production (-before +after):\n%s", diff)
			}
			expectMention(t, output, "import", "release one")
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// A create that finds releases of its own owner and names warns, and stops before it writes
// anything. The import block in the error takes these releases over.
func TestAttackCreateStopsBeforeItsFirstWrite(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	one := []string{s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	both := []string{s.provider("", on, on), s.bundle("one", "x"), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles")}
	w.configure(t, one...)
	w.apply(t)
	before := s.releases(t, 0)
	w.forget(t)

	w.configure(t, both...)
	expectMention(t, w.run(t, "plan", "-input=false"), "release one", "import")
	var output string
	for range 2 { // A second try changes no more.
		output = w.refuse(t, applying, "one", "import")
		if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("releases (-before +after):\n%s", diff)
		}
		s.expectReleases(t, 1)
		if listed := w.managed(t); strings.Contains(listed, all) {
			t.Errorf("the address is taken:\n%s", listed)
		}
	}
	w.configure(t, append(both, importBlock(t, output))...)
	w.apply(t)
	if got := s.releases(t, 0)["one"]; got != before["one"] {
		t.Errorf("the release was %v and is %v", before["one"], got)
	}
	for i := range 2 {
		s.expectReleases(t, i, "one", "two")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

// An import can name clusters, so that a cluster that is down does not prevent the import of the
// others.
func TestAttackImportNamesClusters(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	away := strings.Replace(s.provider("", on, on), "  clusters = {\n", "  clusters = {\n    away = { host = \"https://127.0.0.1:1\", token = \"x\", labels = { on = \"no\" } }\n", 1)
	config := []string{s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	w.configure(t, append(config, s.provider("", on, on))...)
	w.apply(t)
	before, objects := s.releases(t, 0), s.uids(t)
	w.run(t, "state", "rm", all)
	w.configure(t, append(config, away)...)
	w.fail(t, []string{"import", all, "all/a,nowhere"}, "nowhere")
	w.run(t, "import", all, "all/a,b")
	w.apply(t)
	if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("releases (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	w.configure(t, append(config, s.provider("", on, on))...)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

const keyResource = "resource \"terraform_data\" \"key\" {}\n"

// Some settings let a create take over existing releases, and others do not.
func TestAttackConsent(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const generated = "adoption_key = terraform_data.key.id\n"
	tests := map[string]struct {
		// first and then are the attributes of the target, before and after the state is lost.
		first, then string
		// owner is the owner of the provider after the state is lost, "" for the same.
		owner   string
		adopted bool
	}{
		"nothing":                 {},
		"take_ownership":          {then: "take_ownership = true\n", adopted: true},
		"the key":                 {first: generated, then: generated, adopted: true},
		"another key":             {first: generated, then: "adoption_key = \"guessed\"\n"},
		"a key where none was":    {then: generated},
		"no key where one was":    {first: generated},
		"the key, another owner":  {first: generated, then: generated, owner: "another"},
		"an empty key":            {then: "adoption_key = \"\"\n"},
		"an empty key, both ways": {first: "adoption_key = \"\"\n", then: "adoption_key = \"\"\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			config := func(provider, extra string) []string {
				return []string{provider, keyResource, s.bundle("one", "x"), target(extra, "fleet_bundle.one.bundles")}
			}
			w.configure(t, config(s.provider("", on), test.first)...)
			w.run(t, "apply", "-auto-approve", "-input=false", "-target=terraform_data.key")
			earlier, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			if output, err := w.try(t, "apply", "-auto-approve", "-input=false"); err != nil {
				if strings.Contains(name, "an empty key") && strings.Contains(output, "adoption_key") {
					return // This is the expected refusal.
				}
				t.Fatalf("the first apply failed: %v\n%s", err, output)
			}
			before, objects := s.releases(t, 0), s.uids(t)
			w.write(t, "terraform.tfstate", string(earlier)) // As a killed create leaves it.

			provider := s.provider("", on)
			if test.owner != "" {
				provider = strings.Replace(provider, fmt.Sprintf("owner = %q", s.namespace), fmt.Sprintf("owner = %q", test.owner), 1)
			}
			w.configure(t, config(provider, test.then)...)
			output, err := w.try(t, "apply", "-auto-approve", "-input=false")
			if (err == nil) != test.adopted {
				t.Errorf("adopted: %t, want %t:\n%s", err == nil, test.adopted, output)
			}
			if !test.adopted {
				w.destroyOutput(t)
			}
			// With take_ownership alone, the former record proves nothing, so there is a new revision.
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" && name != "take_ownership" {
				t.Errorf("releases (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
			if test.adopted {
				w.expectEmptyPlan(t)
				w.run(t, "destroy", "-auto-approve")
				s.expectNothing(t, 0)
			}
		})
	}
}

// Another user has changed a record before it is adopted by its key or imported. Even then nothing
// is deleted that does not belong to the release.
func TestAttackAdoptedRecordNamesAVictim(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, again := range map[string]func(t *testing.T, w *workspace, config []string){
		"by key": func(*testing.T, *workspace, []string) {},
		"by import": func(t *testing.T, w *workspace, _ []string) {
			t.Helper()
			w.output(t, "import", all, "all")
		},
		"by take_ownership": func(t *testing.T, w *workspace, config []string) {
			t.Helper()
			taking := strings.Replace(config[len(config)-1], "  name = ", "  take_ownership = true\n  name = ", 1)
			w.configure(t, append(config[:len(config)-1], taking)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			key := ""
			if name == "by key" {
				key = "adoption_key = terraform_data.key.id\n"
			}
			config := []string{keyResource, s.provider("", on), s.bundle("one", "x"), target(key, "fleet_bundle.one.bundles")}
			w.configure(t, config...)
			w.apply(t)
			w.run(t, "state", "rm", all)
			s.tamper(t, "one", func(content map[string]any) {
				content["manifest"] = content["manifest"].(string) + out.manifest() //nolint:forcetypeassert // a panic fails the test
			})
			again(t, w, config)
			w.applyOutput(t)
			out.expectUntouched(t, "apply")
			w.destroyOutput(t)
			out.expectUntouched(t, "destroy")
		})
	}
}

// A release moves from one target to another in one apply.
func TestAttackReleaseMovesBetweenTargets(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const one, both = "fleet_bundle.one.bundles", "fleet_bundle.one.bundles, fleet_bundle.two.bundles"
	const two = "fleet_bundle.two.bundles"
	tests := map[string]struct {
		// key is the adoption key of both targets.
		key                   string
		loserDepends, gainerD string
		kept                  bool
	}{
		"with a key, the gainer first": {key: "adoption_key = terraform_data.key.id\n", loserDepends: "depends_on = [fleet_cluster_target.gainer]\n", kept: true},
		"without, the loser first":     {gainerD: "depends_on = [fleet_cluster_target.loser]\n"},
	}
	for name, test := range tests {
		for _, fresh := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, a new target %t", name, fresh), func(t *testing.T) {
				t.Parallel()
				s, w := newFixture(t, env), newWorkspace(t)
				rest := []string{keyResource, s.provider("", on), s.bundle("one", "x"), s.bundle("two", "x")}
				w.configure(t, rest...)
				w.run(t, "apply", "-auto-approve", "-input=false", "-target=terraform_data.key")
				was := append(rest, targetOf("loser", "yes", test.key+test.loserDepends, both)) //nolint:gocritic // of its own length
				if !fresh || test.loserDepends != "" {
					was = append(was, targetOf("gainer", "yes", test.key))
				}
				w.configure(t, was...)
				w.apply(t)
				before, objects := s.releases(t, 0), s.uids(t)
				w.configure(t, append(rest, targetOf("loser", "yes", test.key+test.loserDepends, one), targetOf("gainer", "yes", test.key+test.gainerD, two))...)
				plan := w.run(t, "plan", "-input=false")
				w.apply(t)
				after := s.releases(t, 0)
				if after["one"] != before["one"] {
					t.Errorf("the release that stays was %v and is %v", before["one"], after["one"])
				}
				if kept := after["two"] == before["two"]; kept != test.kept || after["two"].uid == "" {
					t.Errorf("the release that moves was %v and is %v", before["two"], after["two"])
				}
				if kept := cmp.Equal(objects, s.uids(t)); kept != test.kept {
					t.Errorf("objects were %v and are %v", objects, s.uids(t))
				}
				if !test.kept {
					expectMention(t, plan, "release two", "again")
				}
				w.expectEmptyPlan(t)
				w.run(t, "destroy", "-auto-approve")
				s.expectNothing(t, 0)
			})
		}
	}
}

// hintFile is the former name of a file in the temporary folder: it can be guessed.
func (w *workspace) hintFile(t *testing.T, owner string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	place := sha256.Sum256([]byte("local\n" + dir + "\n"))
	sum := sha256.Sum256([]byte(hex.EncodeToString(place[:16]) + "\n" + owner))
	temporary := ""
	for _, variable := range w.env {
		if value, found := strings.CutPrefix(variable, "TMPDIR="); found {
			temporary = value
		}
	}
	return filepath.Join(temporary, fmt.Sprintf("terraform-provider-fleet-%d-%s.json", os.Getuid(), hex.EncodeToString(sum[:8])))
}

// Files in the temporary folder, from another user or an earlier plan, do not decide what is
// removed. They stop nothing.
func TestAttackTemporaryFolder(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]func(t *testing.T, w *workspace, s *fixture, rest []string){
		"a plan that was discarded": func(t *testing.T, w *workspace, _ *fixture, rest []string) {
			t.Helper()
			w.configure(t, append(rest, targetOf("loser", "yes", "", "fleet_bundle.one.bundles"), targetOf("gainer", "yes", "", "fleet_bundle.two.bundles"))...)
			w.output(t, "plan", "-input=false")
		},
		"a file of another user": func(t *testing.T, w *workspace, s *fixture, _ []string) {
			t.Helper()
			content, err := json.Marshal(map[string]any{"gainer": map[string]any{
				"noted": time.Now(), "releases": map[string][]string{"a": {s.namespace + "/two"}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(w.hintFile(t, s.namespace), content, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a pipe that nobody writes": func(t *testing.T, w *workspace, s *fixture, _ []string) {
			t.Helper()
			if err := syscall.Mkfifo(w.hintFile(t, s.namespace), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, plant := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.patience = time.Minute
			rest := []string{s.provider("", on), s.bundle("one", "x"), s.bundle("two", "x")}
			w.configure(t, append(rest, targetOf("loser", "yes", "", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))...)
			w.apply(t)
			if err := os.RemoveAll(w.hintFile(t, s.namespace)); err != nil {
				t.Fatal(err)
			}
			plant(t, w, s, rest)
			w.configure(t, append(rest, targetOf("loser", "yes", "", "fleet_bundle.one.bundles"))...)
			w.applyOutput(t)
			s.expectReleases(t, 0, "one")
			if err := os.RemoveAll(w.hintFile(t, s.namespace)); err != nil {
				t.Fatal(err)
			}
			w.destroyOutput(t)
		})
	}
}
