package target_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const planted = "hunter2hunter2"

func TestWriteOnlyInputRead(t *testing.T) {
	t.Parallel()
	deep := map[string]any{"db": map[string]any{"password": planted, "port": 5432.0}}
	for name, row := range map[string]struct {
		in   target.WriteOnlyInput
		want map[string]*target.WriteOnly
		err  string
	}{
		"nothing": {want: map[string]*target.WriteOnly{}},
		"an object": {
			in:   target.WriteOnlyInput{Values: map[string]any{"app": deep}, ValuesVersions: map[string]string{"app": "1"}},
			want: map[string]*target.WriteOnly{"app": {Content: secret.Hide(target.Content{Values: deep}), ValuesVersion: "1"}},
		},
		"YAML": {
			in:   target.WriteOnlyInput{Values: map[string]any{"app": "db: {password: " + planted + ", port: 5432}"}, ValuesVersions: map[string]string{"app": "1"}},
			want: map[string]*target.WriteOnly{"app": {Content: secret.Hide(target.Content{Values: deep}), ValuesVersion: "1"}},
		},
		"all unknown": {
			in:   target.WriteOnlyInput{ValuesVersions: map[string]string{"app": "1"}, FilesVersions: map[string]string{"web": "2"}},
			want: map[string]*target.WriteOnly{"app": {ValuesVersion: "1"}, "web": {FilesVersion: "2"}},
		},
		"one bundle unknown": {
			in:   target.WriteOnlyInput{Values: map[string]any{"app": target.Unknown{}}, ValuesVersions: map[string]string{"app": "1"}},
			want: map[string]*target.WriteOnly{"app": {ValuesVersion: "1"}},
		},
		"unknown content": {
			in:   target.WriteOnlyInput{Files: map[string]any{"web": map[string]any{"b.yaml": target.Unknown{}, "a.yaml": "a: b"}}, FilesVersions: map[string]string{"web": "2"}},
			want: map[string]*target.WriteOnly{"web": {FilesVersion: "2", Content: secret.Hide(target.Content{Files: []bundle.File{{Name: "a.yaml", Content: []byte("a: b")}, {Name: "b.yaml", Content: []byte{}}}})}},
		},
		"an empty version":   {in: target.WriteOnlyInput{Values: map[string]any{"app": deep}, ValuesVersions: map[string]string{"app": ""}}, err: "bundle app: values_wo_version: the version is empty"},
		"no version":         {in: target.WriteOnlyInput{Values: map[string]any{"app": deep}}, err: "bundle app: values_wo: values_wo_version has no entry"},
		"no values":          {in: target.WriteOnlyInput{Values: map[string]any{}, ValuesVersions: map[string]string{"app": "1"}}, err: "bundle app: values_wo_version: values_wo has no entry"},
		"no such bundle":     {in: target.WriteOnlyInput{Files: map[string]any{"x": map[string]any{}}, FilesVersions: map[string]string{"x": "1"}}, err: "bundle x: files_wo: the target has no such bundle"},
		"a list":             {in: target.WriteOnlyInput{Values: map[string]any{"app": []any{planted}}, ValuesVersions: map[string]string{"app": "1"}}, err: "neither an object nor a map"},
		"broken YAML":        {in: target.WriteOnlyInput{Values: map[string]any{"app": planted + ": ["}, ValuesVersions: map[string]string{"app": "1"}}, err: "not a map written as YAML or JSON"},
		"large values":       {in: target.WriteOnlyInput{Values: map[string]any{"app": map[string]any{"a": strings.Repeat("x", fleetyaml.MaxSize)}}, ValuesVersions: map[string]string{"app": "1"}}, err: "larger than 4 MiB"},
		"large files":        {in: target.WriteOnlyInput{Files: map[string]any{"app": map[string]any{"a.yaml": strings.Repeat("x", fleetyaml.MaxSize+1)}}, FilesVersions: map[string]string{"app": "1"}}, err: "larger than 4 MiB"},
		"an absolute path":   {in: target.WriteOnlyInput{Files: map[string]any{"app": map[string]any{"/a.yaml": planted}}, FilesVersions: map[string]string{"app": "1"}}, err: `"/a.yaml" is not a path within the bundle`},
		"a path that climbs": {in: target.WriteOnlyInput{Files: map[string]any{"app": map[string]any{"a/../../b.yaml": planted}}, FilesVersions: map[string]string{"app": "1"}}, err: "is not a path within the bundle"},
		"content of a map":   {in: target.WriteOnlyInput{Files: map[string]any{"app": map[string]any{"a.yaml": map[string]any{"a": planted}}}, FilesVersions: map[string]string{"app": "1"}}, err: "does not have text as its content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := row.in.Read([]string{"app", "web"})
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Fatalf("got the error %v, want %q", err, row.err)
			}
			if err != nil {
				if strings.Contains(err.Error(), planted) {
					t.Errorf("the error quotes the input: %v", err)
				}
				return
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The digest covers only the versions.
func TestDigestCoversVersionsOfWriteOnlyInput(t *testing.T) {
	t.Parallel()
	plain := target.Deployment{Digest: "v1-0"}
	base := target.WriteOnly{ValuesVersion: "1", Content: secret.Hide(target.Content{Values: map[string]any{"a": "b"}})}
	of := func(change func(*target.WriteOnly)) string {
		changed := base
		change(&changed)
		return plain.WithWriteOnly(&changed).Digest
	}
	same := of(func(*target.WriteOnly) {})
	for name, row := range map[string]struct {
		digest string
		equal  bool
	}{
		"another value": {of(func(w *target.WriteOnly) {
			w.Content = secret.Hide(target.Content{Values: map[string]any{"a": planted}})
		}), true},
		"a value that is not known":       {of(func(w *target.WriteOnly) { w.Content = secret.Hide(target.Content{}) }), true},
		"another version":                 {of(func(w *target.WriteOnly) { w.ValuesVersion = "2" }), false},
		"files too":                       {of(func(w *target.WriteOnly) { w.FilesVersion = "1" }), false},
		"the version of files instead":    {of(func(w *target.WriteOnly) { w.ValuesVersion, w.FilesVersion = "", "1" }), false},
		"none":                            {plain.WithWriteOnly(nil).Digest, false},
		"the same without the content":    {plain.WithWriteOnly(&base).WithoutContent().Digest, true},
		"another digest of the rest":      {target.Deployment{Digest: "v1-1"}.WithWriteOnly(&base).Digest, false},
		"content of files does not count": {of(func(w *target.WriteOnly) { w.Content = secret.Hide(target.Content{Files: []bundle.File{{Name: "a"}}}) }), true},
	} {
		if (row.digest == same) != row.equal {
			t.Errorf("%s: %s beside %s", name, row.digest, same)
		}
	}
	if got := plain.WithWriteOnly(nil); got.Digest != "v1-0" || got.HidesContent() {
		t.Errorf("without write-only input: %s, %t", got.Digest, got.HidesContent())
	}
}

func TestSecretTexts(t *testing.T) {
	t.Parallel()
	d := target.Deployment{WriteOnly: &target.WriteOnly{Content: secret.Hide(target.Content{
		Values: map[string]any{"list": []any{map[string]any{"a": "first secret"}}, "pin": 12345678.0},
		Files: []bundle.File{
			{Name: "a.yaml", Content: []byte("kind: Secret\nmetadata: {name: visible}\nstringData: {a: second/secret}\n---\nkind: Secret\ndata: {b: dGhpcmQgc2VjcmV0}\n")},
			{Name: "b.yaml", Content: []byte("[broken secret")},
		},
	})}}
	texts := d.SecretTexts()
	for _, want := range []string{"first secret", "12345678", "1.2345678e+07", "second/secret", "dGhpcmQgc2VjcmV0", "[broken secret"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is missing in %q", want, texts)
		}
	}
	if slices.Contains(texts, "visible") || slices.Contains(texts, "Secret") {
		t.Errorf("what names an object is no secret: %q", texts)
	}
	if texts := d.WithoutContent().SecretTexts(); len(texts) > 0 {
		t.Errorf("content is left: %q", texts)
	}
}

// An error never quotes the input, and values that were read can be written.
func FuzzWriteOnlyInput(f *testing.F) {
	for _, seed := range []string{"a: b", "- a", "a: &a [b]\nc: *a", "{", "a: 1e400", "---\n---\n", "\x00"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, values, content string) {
		in := target.WriteOnlyInput{
			Values: map[string]any{"app": values}, ValuesVersions: map[string]string{"app": "1"},
			Files: map[string]any{"app": map[string]any{"a.yaml": content}}, FilesVersions: map[string]string{"app": "1"},
		}
		read, err := in.Read([]string{"app"})
		if _, typed := errors.AsType[*target.WriteOnlyError](err); err != nil && !typed {
			t.Errorf("the error %v has no type", err)
		}
		target.Deployment{WriteOnly: read["app"]}.SecretTexts()
		if _, err := json.Marshal(read["app"].Content.Reveal().Values); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
