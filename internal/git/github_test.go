package git

import "testing"

func TestDefaultAPI(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ repo, want string }{
		"GitHub":                 {"https://github.com/acme/fleet", "https://api.github.com"},
		"GitHub below its host":  {"https://www.github.com/acme/fleet", "https://api.github.com"},
		"data residency":         {"https://acme.ghe.com/acme/fleet", "https://api.acme.ghe.com"},
		"Enterprise Server":      {"https://git.example.com/acme/fleet", "https://git.example.com/api/v3"},
		"with a port":            {"https://git.example.com:8443/acme/fleet", "https://git.example.com:8443/api/v3"},
		"a name that ends alike": {"https://notghe.com/acme/fleet", "https://notghe.com/api/v3"},
		"a host below another":   {"https://acme.ghe.com.example.com/acme/fleet", "https://acme.ghe.com.example.com/api/v3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := parseLocation(test.repo)
			if err != nil {
				t.Fatal(err)
			}
			if got := defaultAPI(at); got != test.want {
				t.Errorf("defaultAPI(%s) = %s, want %s", test.repo, got, test.want)
			}
		})
	}
}
