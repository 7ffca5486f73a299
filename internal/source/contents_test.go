package source_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

func TestContentHasThreeWords(t *testing.T) {
	t.Parallel()
	const digest = "v1-ac881d87e0f14f6a9d3b27c05e81f6aa"
	tests := map[string]struct {
		element source.Element
		want    string
	}{
		"a chart":           {source.Element{Chart: "web", Version: "1.0.0", Path: "apps/web", Digest: digest}, "web-1.0.0 apps/web ac881d87"},
		"of the root":       {source.Element{Chart: "web", Version: "1.0.0", Digest: digest}, "web-1.0.0 . ac881d87"},
		"of another script": {source.Element{Chart: "web", Version: "1.0.0", Path: "größe/日本", Digest: digest}, "web-1.0.0 größe/日本 ac881d87"},
		"spaces":            {source.Element{Chart: "my web", Version: "1.0.0", Path: "my apps/\u00a0web", Digest: digest}, "my%20web-1.0.0 my%20apps/%C2%A0web ac881d87"},
		"a percent sign":    {source.Element{Chart: "web", Version: "1.0.0", Path: "100%20", Digest: digest}, "web-1.0.0 100%2520 ac881d87"},
		"an escape":         {source.Element{Chart: "web", Version: "1.0.0", Path: "a\x1b[31m\n\u202e\xff", Digest: digest}, "web-1.0.0 a%1B[31m%0A%E2%80%AE%FF ac881d87"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.element.Content()
			if got != test.want {
				t.Errorf("the content is %q, want %q", got, test.want)
			}
			words := strings.Fields(got)
			if len(words) != 3 {
				t.Fatalf("%q has %d words", got, len(words))
			}
			if path, err := url.PathUnescape(words[1]); err != nil || (path != test.element.Path && path != ".") {
				t.Errorf("the path is %q, %v; want %q", path, err, test.element.Path)
			}
		})
	}
}
