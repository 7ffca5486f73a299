package storage

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
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

// codeOf returns the code of the content of a record as it is written.
func codeOf(r *helmrelease.Release) string {
	return RecordOf(r).Code(release.Proof{Key: "key", UID: "uid"}, ObservedOf(r))
}

// A person who knows the whole content except a secret cannot test guesses of the secret. A code
// counts only for one release on one cluster. The code of the labels binds it to one revision.
func TestContentDependsOnItsPlace(t *testing.T) {
	t.Parallel()
	r, proof := RecordOf(released()), release.Proof{Key: "key", UID: "uid"}
	place := release.Observed{Release: "web", Namespace: "ns", Revision: 3}
	codes := map[string]string{}
	for name, code := range map[string]string{
		"as it is":                     r.Code(proof, place),
		"another key":                  r.Code(release.Proof{Key: "other", UID: "uid"}, place),
		"another cluster":              r.Code(release.Proof{Key: "key", UID: "other"}, place),
		"another release":              r.Code(proof, release.Observed{Release: "x", Namespace: "ns", Revision: 3}),
		"another namespace":            r.Code(proof, release.Observed{Release: "web", Namespace: "x", Revision: 3}),
		"from one text to the next":    r.Code(proof, release.Observed{Release: "eb", Namespace: "nsw", Revision: 3}),
		"from the UID to the next one": r.Code(release.Proof{Key: "key", UID: "ui"}, release.Observed{Release: "web", Namespace: "dns", Revision: 3}),
	} {
		if other, found := codes[code]; found {
			t.Errorf("%s and %s have one code %s", name, other, code)
		}
		codes[code] = name
	}
}

// Values have one code, however Helm read and wrote them.
func TestContentOfValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values map[string]any
		stored string // "" for as they are written
		same   bool
	}{
		"none":           {same: true},
		"empty":          {values: map[string]any{}, stored: `{}`, same: true},
		"null":           {stored: `null`, same: true},
		"some":           {values: map[string]any{"b": 1, "a": []any{"<&>", nil, 1.5}}, same: true},
		"large integers": {values: map[string]any{"a": int64(9007199254740993), "b": uint64(1) << 63}, same: true},
		"exponents":      {values: map[string]any{"a": 1e21, "b": 1e-7}, same: true},
		"no text":        {values: map[string]any{"a\xff": "b\xff\xfe"}, same: true},
		"other order":    {values: map[string]any{"a": 1, "b": 2}, stored: `{"b":2,"a":1.0}`, same: true},
		"other values":   {values: map[string]any{"a": 1}, stored: `{"a":2}`},
		"more values":    {values: map[string]any{"a": 1}, stored: `{"a":1,"b":null}`},
		"another type":   {values: map[string]any{"a": 1}, stored: `{"a":"1"}`},
		"a list":         {stored: `[]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := released(func(r *helmrelease.Release) { r.Config = test.values })
			stored, err := json.Marshal(written)
			if err != nil {
				t.Fatal(err)
			}
			var read Record
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			if test.stored != "" {
				read.Values = json.RawMessage(test.stored)
			}
			if got := read.Code(release.Proof{Key: "key", UID: "uid"}, ObservedOf(written)) == codeOf(written); got != test.same {
				t.Errorf("the same content: %t, want %t", got, test.same)
			}
			// As Helm reads the record.
			var byHelm helmrelease.Release
			if err := json.Unmarshal(stored, &byHelm); err != nil {
				t.Fatal(err)
			}
			if codeOf(&byHelm) != codeOf(written) {
				t.Error("Helm reads other content than it wrote")
			}
		})
	}
}

// The driver makes both codes for each record, whatever labels it was given. They prove it, and
// nothing else.
func TestRecordsAreProven(t *testing.T) {
	t.Parallel()
	by := release.Claimant{Mark: release.NewMark("o", "t", "i", "web", "d"), Proof: release.Proof{Key: "key", UID: "uid"}}
	copied := map[string]string{"team": "a", labelContent: "x", labelMAC: "y"}
	maps.Copy(copied, Labels(by.Mark))
	made := func() *helmrelease.Release {
		driver := &Driver{options: Options{By: by}}
		record := released(func(r *helmrelease.Release) { r.Labels, r.Config = copied, map[string]any{"a": "b"} })
		record.Labels = driver.provenLabels(record)
		return record
	}
	tests := map[string]struct {
		change  func(*helmrelease.Release)
		trusted bool
	}{
		"nothing":            {change: func(*helmrelease.Release) {}, trusted: true},
		"its status":         {change: func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusSuperseded }, trusted: true},
		"a label of others":  {change: func(r *helmrelease.Release) { r.Labels["team"] = "b" }, trusted: true},
		"the manifest":       {change: func(r *helmrelease.Release) { r.Manifest += "#" }},
		"the hooks":          {change: func(r *helmrelease.Release) { r.Hooks = nil }},
		"the values":         {change: func(r *helmrelease.Release) { r.Config = nil }},
		"the revision":       {change: func(r *helmrelease.Release) { r.Version++ }},
		"the namespace":      {change: func(r *helmrelease.Release) { r.Namespace = "x" }},
		"the digest":         {change: func(r *helmrelease.Release) { r.Labels[labelDigest] = "e" }},
		"the owner":          {change: func(r *helmrelease.Release) { r.Labels[LabelOwner] = "p" }},
		"the terms":          {change: func(r *helmrelease.Release) { r.Labels[labelUninstallPolicy] = "keep-resources" }},
		"the origin of text": {change: func(r *helmrelease.Release) { r.Labels[labelText] = "public" }},
		"no code of content": {change: func(r *helmrelease.Release) { delete(r.Labels, labelContent) }},
		"no code of labels":  {change: func(r *helmrelease.Release) { delete(r.Labels, labelMAC) }},
		"no labels":          {change: func(r *helmrelease.Release) { r.Labels = nil }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, driver := made(), &Driver{options: Options{By: by}}
			test.change(record)
			if got := driver.Trusts(record); got != test.trusted {
				t.Errorf("trusted: %t, want %t", got, test.trusted)
			}
			if driver.distrust(record); (record.Manifest == "") == test.trusted || !test.trusted && len(record.Hooks) > 0 {
				t.Errorf("Helm gets %d hooks and the manifest %q", len(record.Hooks), record.Manifest)
			}
		})
	}
	if labels := made().Labels; labels["team"] != "a" || labels[labelRevision] != "3" || len(validation.IsValidLabelValue(labels[labelMAC]))+len(validation.IsValidLabelValue(labels[labelContent])) > 0 {
		t.Errorf("labels %v", labels)
	}
	if diff := cmp.Diff("x", copied[labelContent]); diff != "" {
		t.Errorf("the labels that were copied are changed (-want +got):\n%s", diff)
	}
}

// A record that was read has the same content code as when it was written, also after Helm
// changed other parts of it. A record with other content has another code.
func TestContent(t *testing.T) {
	t.Parallel()
	hook := func(n int, change func(*helmrelease.Hook)) func(*helmrelease.Release) {
		return func(r *helmrelease.Release) { change(r.Hooks[n]) }
	}
	tests := map[string]struct {
		change func(*helmrelease.Release)
		same   bool
	}{
		"nothing":   {change: func(*helmrelease.Release) {}, same: true},
		"its chart": {change: func(r *helmrelease.Release) { r.Chart.Metadata.Version = "2.0.0" }, same: true},
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
			var read Record
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			if same := read.Code(release.Proof{Key: "key", UID: "uid"}, ObservedOf(released())) == codeOf(released()); same != test.same {
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
			written := &helmrelease.Release{Info: &helmrelease.Info{}, Manifest: manifest}
			stored, err := json.Marshal(written)
			if err != nil {
				t.Fatal(err)
			}
			var read Record
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(codeOf(written), read.Code(release.Proof{Key: "key", UID: "uid"}, ObservedOf(written))); diff != "" {
				t.Errorf("content (-written +read):\n%s", diff)
			}
		})
	}
}
