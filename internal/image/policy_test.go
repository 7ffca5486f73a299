package image_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

func TestSort(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy image.Policy
		tags   []string
		want   []string
		wrong  string
	}{
		"versions, not text":           {tags: []string{"1.9.0", "1.10.0", "1.2.0"}, want: []string{"1.10.0", "1.9.0", "1.2.0"}},
		"what is no version":           {tags: []string{"latest", "1.0.0", "main-abc"}, want: []string{"1.0.0"}},
		"a leading v":                  {tags: []string{"v1.0.0", "v1.1.0"}, want: []string{"v1.1.0", "v1.0.0"}},
		"a short version":              {tags: []string{"1", "1.2"}, want: []string{"1.2", "1"}},
		"equal versions":               {tags: []string{"v1.0.0", "1.0.0"}, want: []string{"1.0.0", "v1.0.0"}},
		"a range":                      {policy: image.Policy{Range: "~1.4"}, tags: []string{"1.5.0", "1.4.9", "1.4.10"}, want: []string{"1.4.10", "1.4.9"}},
		"pre-releases do not count":    {tags: []string{"2.0.0-rc.1", "1.0.0"}, want: []string{"1.0.0"}},
		"pre-releases of the range":    {policy: image.Policy{Range: ">=1.0.0-0"}, tags: []string{"2.0.0-rc.1", "1.0.0"}, want: []string{"2.0.0-rc.1", "1.0.0"}},
		"no version in the range":      {policy: image.Policy{Range: "~2"}, tags: []string{"1.0.0", "latest"}, wrong: `none of its 2 tags is a version in the range "~2"`},
		"a range that is none":         {policy: image.Policy{Range: "newest"}, wrong: `the range of semantic versions cannot be read: improper constraint: "newest"`},
		"a tag that is too long":       {policy: image.Policy{By: image.Alphabetical}, tags: []string{strings.Repeat("b", 129), strings.Repeat("a", 128)}, want: []string{strings.Repeat("a", 128)}},
		"alphabetical":                 {policy: image.Policy{By: image.Alphabetical}, tags: []string{"b", "c", "a"}, want: []string{"c", "b", "a"}},
		"alphabetical, the smallest":   {policy: image.Policy{By: image.Alphabetical, Smallest: true}, tags: []string{"b", "c", "a"}, want: []string{"a", "b", "c"}},
		"numerical":                    {policy: image.Policy{By: image.Numerical}, tags: []string{"9", "10", "latest", "1"}, want: []string{"10", "9", "1"}},
		"numerical, the smallest":      {policy: image.Policy{By: image.Numerical, Smallest: true}, tags: []string{"9", "10"}, want: []string{"9", "10"}},
		"numbers of any size":          {policy: image.Policy{By: image.Numerical}, tags: []string{"99999999999999999999", "100000000000000000000", "007"}, want: []string{"100000000000000000000", "99999999999999999999", "007"}},
		"a filter":                     {policy: image.Policy{By: image.Alphabetical, Filter: "^main-"}, tags: []string{"main-1", "pr-9", "main-2"}, want: []string{"main-2", "main-1"}},
		"a filter with a group":        {policy: image.Policy{By: image.Numerical, Filter: "^main-[0-9a-f]+-([0-9]+)$"}, tags: []string{"main-ff-9", "main-00-10", "pr-00-11"}, want: []string{"main-00-10", "main-ff-9"}},
		"a filter with a version":      {policy: image.Policy{Range: "1.x", Filter: `^(.+)-alpine$`}, tags: []string{"1.3.0-alpine", "1.4.0", "1.2.0-alpine"}, want: []string{"1.3.0-alpine", "1.2.0-alpine"}},
		"a filter without a match":     {policy: image.Policy{Filter: "x"}, tags: []string{"1.0.0"}, wrong: `none of its 1 tags is a version in the range "*" and matches "x"`},
		"a filter of two groups":       {policy: image.Policy{Filter: "(a)(b)"}, wrong: "the filter has more than one group; write groups that are not compared as (?:…)"},
		"a filter that is none":        {policy: image.Policy{Filter: "("}, wrong: "the filter is not a regular expression: error parsing regexp: missing closing ): `(`"},
		"an order that is none":        {policy: image.Policy{By: "newest"}, wrong: `"newest" is not an order of tags`},
		"no tags":                      {wrong: "the image has no tags"},
		"what no registry may have":    {policy: image.Policy{By: image.Alphabetical}, tags: []string{"a\nb: c", "", "ä", ".x"}, wrong: "none of its 4 tags is valid"},
		"the same tag of two pages":    {tags: []string{"1.0.0", "1.0.0"}, want: []string{"1.0.0"}},
		"no whole number":              {policy: image.Policy{By: image.Numerical}, tags: []string{"-1", "1.5"}, wrong: "none of its 2 tags is a whole number"},
		"a group that matches nothing": {policy: image.Policy{By: image.Numerical, Filter: "^a([0-9]*)"}, tags: []string{"a", "a1"}, want: []string{"a1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.policy.Sort(test.tags)
			if text := textOf(err); text != test.wrong {
				t.Fatalf("error %q, want %q", text, test.wrong)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			slices.Reverse(test.tags)
			again, err := test.policy.Sort(test.tags)
			if textOf(err) != test.wrong || !slices.Equal(again, got) {
				t.Errorf("listed the other way round: %q, %v", again, err)
			}
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nginx":                             "index.docker.io/library/nginx",
		"nginx:1.29":                        "index.docker.io/library/nginx",
		"docker.io/acme/web":                "index.docker.io/acme/web",
		"ghcr.io/acme/web:1@sha256:" + zero: "ghcr.io/acme/web",
		"127.0.0.1:5000/web":                "127.0.0.1:5000/web",
		"harbor.example.com/index.docker.io/library/nginx": "harbor.example.com/index.docker.io/library/nginx",
		"xindex.docker.io/web":                             "xindex.docker.io/web",
		"":                                                 "",
		"Acme/Web":                                         "",
		"ghcr.io/acme/web?x=1":                             "",
		"https://ghcr.io/acme/web":                         "",
		"user:password@ghcr.io/web":                        "",
	}
	for in, want := range tests {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			got, err := image.Canonical(in)
			if got != want || (err != nil) != (want == "") {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

const zero = "0000000000000000000000000000000000000000000000000000000000000000"

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"nginx":                "oci://docker.io/library/nginx",
		"ghcr.io/acme/web:1":   "oci://ghcr.io/acme/web",
		"xindex.docker.io/web": "oci://xindex.docker.io/web",
		"harbor.example.com/index.docker.io/nginx": "oci://harbor.example.com/index.docker.io/nginx",
	} {
		if got, err := image.Address(in); got != want || err != nil {
			t.Errorf("%s is at %q, %v; want %q", in, got, err, want)
		}
	}
}
