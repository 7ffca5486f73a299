package helm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
)

func released(change ...func(*helmrelease.Release)) *helmrelease.Release {
	made := &helmrelease.Release{
		Name: "web", Namespace: "ns", Version: 3, Info: &helmrelease.Info{},
		Chart:    &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.2.3"}},
		Manifest: "---\na: b\n",
		Hooks: []*helmrelease.Hook{
			{Name: "one", Kind: "Job", Path: "web/templates/one.yaml", Manifest: "kind: Job\n", Events: []helmrelease.HookEvent{helmrelease.HookPreInstall, helmrelease.HookPreDelete}, Weight: -5},
			{Name: "two", Kind: "Job", Path: "web/templates/two.yaml", Manifest: "kind: Job\n", Events: []helmrelease.HookEvent{helmrelease.HookTest}, DeletePolicies: []helmrelease.HookDeletePolicy{helmrelease.HookSucceeded}},
		},
	}
	for _, change := range change {
		change(made)
	}
	return made
}

// A content digest that is stored in states must never change without a new version.
func TestContentGolden(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		record *helmrelease.Release
		want   string
	}{
		"empty":           {record: &helmrelease.Release{}, want: "1:a3e9895baca1203d60651bb450af339d"},
		"hooks":           {record: released(), want: "1:f63f4fb8987c887fc0a568cb6453f9dd"},
		"hooks with salt": {record: released(salted("SALT")), want: "2:1fee24c86ec367307ec384f58b3650dd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := recordOf(test.record).content(); got != test.want {
				t.Errorf("content = %s, want %s", got, test.want)
			}
		})
	}
}

func salted(salt string) func(*helmrelease.Release) {
	return func(r *helmrelease.Release) { r.Labels = map[string]string{labelSalt: salt} }
}

// A person who knows the whole manifest except a secret cannot test guesses of the secret
// against the digest. A record without its salt or with another salt is not the record in the
// state.
func TestContentDependsOnSalt(t *testing.T) {
	t.Parallel()
	contents := map[string]string{}
	for name, change := range map[string][]func(*helmrelease.Release){"none": nil, "one": {salted("A")}, "another": {salted("B")}} {
		content := recordOf(released(change...)).content()
		if other, found := contents[content]; found {
			t.Errorf("%s and %s have one content %s", name, other, content)
		}
		contents[content] = name
	}
}

// A record that was read has the same content digest as when it was written, also after Helm
// changed other parts of it. A record with other content has another digest.
func TestContent(t *testing.T) {
	t.Parallel()
	hook := func(n int, change func(*helmrelease.Hook)) func(*helmrelease.Release) {
		return func(r *helmrelease.Release) { change(r.Hooks[n]) }
	}
	tests := map[string]struct {
		change func(*helmrelease.Release)
		same   bool
	}{
		"nothing":                    {change: func(*helmrelease.Release) {}, same: true},
		"its revision and its chart": {change: func(r *helmrelease.Release) { r.Version, r.Chart.Metadata.Version = 4, "2.0.0" }, same: true},
		"when a hook ran": {change: hook(0, func(h *helmrelease.Hook) {
			h.LastRun = helmrelease.HookExecution{StartedAt: helmtime.Now(), Phase: "Failed"}
		}), same: true},
		"the default of a policy": {change: hook(0, func(h *helmrelease.Hook) {
			h.DeletePolicies = []helmrelease.HookDeletePolicy{helmrelease.HookBeforeHookCreation}
		}), same: true},
		"the manifest":                 {change: func(r *helmrelease.Release) { r.Manifest += "#" }},
		"no hook":                      {change: func(r *helmrelease.Release) { r.Hooks = nil }},
		"one hook less":                {change: func(r *helmrelease.Release) { r.Hooks = r.Hooks[:1] }},
		"the order of hooks":           {change: func(r *helmrelease.Release) { r.Hooks[0], r.Hooks[1] = r.Hooks[1], r.Hooks[0] }},
		"the name of a hook":           {change: hook(0, func(h *helmrelease.Hook) { h.Name = "x" })},
		"the kind of a hook":           {change: hook(0, func(h *helmrelease.Hook) { h.Kind = "Pod" })},
		"the path of a hook":           {change: hook(0, func(h *helmrelease.Hook) { h.Path = "x" })},
		"the manifest of a hook":       {change: hook(0, func(h *helmrelease.Hook) { h.Manifest = "x" })},
		"an event of a hook":           {change: hook(1, func(h *helmrelease.Hook) { h.Events[0] = helmrelease.HookPreDelete })},
		"one event more":               {change: hook(1, func(h *helmrelease.Hook) { h.Events = append(h.Events, helmrelease.HookPreDelete) })},
		"the weight of a hook":         {change: hook(0, func(h *helmrelease.Hook) { h.Weight = 5 })},
		"a policy of a hook":           {change: hook(1, func(h *helmrelease.Hook) { h.DeletePolicies[0] = helmrelease.HookFailed })},
		"from one field into the next": {change: hook(0, func(h *helmrelease.Hook) { h.Name, h.Kind = "oneJ", "ob" })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, err := json.Marshal(released(test.change))
			if err != nil {
				t.Fatal(err)
			}
			var read record
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			if same := read.content() == recordOf(released()).content(); same != test.same {
				t.Errorf("the same content: %t, want %t", same, test.same)
			}
		})
	}
}

// JSON stores bytes that are not valid text as other bytes.
func TestContentOfWhatIsNoText(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{"one": "a\xffb", "several": "a\xff\xfe\xfdb", "cut": "a\xe2\x82", "the replacement itself": "a\uFFFDb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := &helmrelease.Release{Manifest: manifest}
			stored, err := json.Marshal(written)
			if err != nil {
				t.Fatal(err)
			}
			var read record
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(recordOf(written).content(), read.content()); diff != "" {
				t.Errorf("content (-written +read):\n%s", diff)
			}
		})
	}
}
