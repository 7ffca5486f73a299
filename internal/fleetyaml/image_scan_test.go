package fleetyaml_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

func TestImageScans(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entry string
		want  image.Policy
		wrong []string
		notes []string
	}{
		"no policy":            {entry: "{image: a, tagName: a}", want: image.Policy{By: image.SemVer}},
		"a range":              {entry: "{image: a, tagName: a, interval: 5m, suspend: true, policy: {semver: {range: ~1.4}}}", want: image.Policy{By: image.SemVer, Range: "~1.4"}},
		"alphabetical":         {entry: "{image: a, tagName: a, policy: {alphabetical: {}}}", want: image.Policy{By: image.Alphabetical}},
		"alphabetical, desc":   {entry: "{image: a, tagName: a, policy: {alphabetical: {order: DESC}}}", want: image.Policy{By: image.Alphabetical}},
		"alphabetical, asc":    {entry: "{image: a, tagName: a, policy: {alphabetical: {order: asc}}}", want: image.Policy{By: image.Alphabetical, Smallest: true}},
		"both":                 {entry: "{image: a, tagName: a, policy: {semver: {range: 1.x}, alphabetical: {}}}", want: image.Policy{By: image.SemVer, Range: "1.x"}, notes: []string{"f:1:82: policy.alphabetical has no effect beside policy.semver, as in Fleet"}},
		"a secret":             {entry: "{image: a, tagName: a, secretRef: {name: s}}", want: image.Policy{By: image.SemVer}, notes: []string{"f:1:48: secretRef has no effect: credentials are those of the provider's registries"}},
		"no image":             {entry: "{tagName: a}", want: image.Policy{By: image.SemVer}, notes: []string{"f:1:14: an entry of imageScans without image has no effect, as in Fleet"}},
		"no name":              {entry: "{image: a}", wrong: []string{"f:1:14: an entry of imageScans needs a tagName, which marks the lines that get the tag"}},
		"a colon in the name":  {entry: "{image: a, tagName: 'a:tag'}", wrong: []string{`f:1:34: tagName "a:tag" contains a colon, which begins the part of a marker: choose another name`}},
		"a range that is none": {entry: "{image: a, tagName: a, policy: {semver: {range: new}}}", wrong: []string{`f:1:62: policy.semver.range: the range of semantic versions cannot be read: improper constraint: "new"`}},
		"an order that is none": {
			entry: "{image: a, tagName: a, policy: {alphabetical: {order: up}}}", wrong: []string{`f:1:68: policy.alphabetical.order "up" is neither asc nor desc`},
		},
		"an image that is none": {
			entry: "{image: 'A', tagName: a}",
			wrong: []string{"f:1:22: image: \"A\" is not the name of an image: could not parse reference: A"},
		},
		"another key": {entry: "{image: a, tagName: a, filter: x}", wrong: []string{`f:1:37: unknown key "filter" in imageScans`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, notes, err := fleetyaml.Parser{Strict: true, ImageScans: true}.Parse("f", []byte("imageScans: ["+test.entry+"]\n"))
			var wrong []string
			if invalid, ok := errors.AsType[*fleetyaml.Error](err); ok {
				wrong = texts(invalid.Problems)
			}
			if diff := cmp.Diff(test.wrong, wrong); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.notes, texts(notes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, def.ImageScans[0].Policy.Choice()); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(problems []fleetyaml.Problem) []string {
	var texts []string
	for _, problem := range problems {
		texts = append(texts, problem.String())
	}
	return texts
}
