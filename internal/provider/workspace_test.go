package provider

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Not parallel: it changes the working directory.
func TestStatePlace(t *testing.T) {
	const (
		s3     = `{"backend":{"type":"s3","config":{"bucket":"b","key":"k","secret_key":"swordfish","region":null}}}`
		s3With = `{"backend":{"type":"s3","config":{"bucket":"b","key":"k","secret_key":"rotated"}}}`
		other  = `{"backend":{"type":"s3","config":{"bucket":"b","key":"other"}}}`
		local  = `{"backend":{"type":"local","config":{"path":"states"}}}`
	)
	type checkout struct {
		dir, backend, selected string
		env                    map[string]string
	}
	tests := map[string]struct {
		a, b checkout
		same bool
	}{
		"one directory":                             {a: checkout{dir: "a"}, b: checkout{dir: "a"}, same: true},
		"two directories":                           {a: checkout{dir: "a"}, b: checkout{dir: "b"}},
		"two directories with a local backend":      {a: checkout{dir: "a", backend: local}, b: checkout{dir: "b", backend: local}},
		"two directories with one backend":          {a: checkout{dir: "a", backend: s3}, b: checkout{dir: "b", backend: s3}, same: true},
		"two directories, another secret":           {a: checkout{dir: "a", backend: s3}, b: checkout{dir: "b", backend: s3With}, same: true},
		"another key of one bucket":                 {a: checkout{dir: "a", backend: s3}, b: checkout{dir: "a", backend: other}},
		"another workspace of one directory":        {a: checkout{dir: "a"}, b: checkout{dir: "a", selected: "prod"}},
		"another workspace of one backend":          {a: checkout{dir: "a", backend: s3}, b: checkout{dir: "a", backend: s3, selected: "prod"}},
		"the default workspace by name":             {a: checkout{dir: "a"}, b: checkout{dir: "a", selected: "default"}, same: true},
		"a workspace by variable":                   {a: checkout{dir: "a", selected: "prod"}, b: checkout{dir: "a", env: map[string]string{"TF_WORKSPACE": "prod"}}, same: true},
		"HCP Terraform, two machines":               {a: checkout{dir: "a", env: map[string]string{"TFC_WORKSPACE_SLUG": "acme/x"}}, b: checkout{dir: "b", env: map[string]string{"TFC_WORKSPACE_SLUG": "acme/x"}}, same: true},
		"HCP Terraform, two workspaces, one folder": {a: checkout{dir: "a", env: map[string]string{"TFC_WORKSPACE_SLUG": "acme/x"}}, b: checkout{dir: "a", env: map[string]string{"TFC_WORKSPACE_SLUG": "acme/y"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			place := func(c checkout) []string {
				t.Chdir(makeCheckout(t, filepath.Join(root, c.dir), c.backend, c.selected))
				found, err := statePlace(func(key string) string { return c.env[key] })
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			a, b := place(test.a), place(test.b)
			if slices.Equal(a, b) != test.same {
				t.Errorf("the places %q and %q: want them equal: %t", a, b, test.same)
			}
		})
	}
}

func makeCheckout(t *testing.T, dir, backend, selected string) string {
	t.Helper()
	data := filepath.Join(dir, ".terraform")
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"terraform.tfstate": backend, "environment": selected} {
		if content == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
