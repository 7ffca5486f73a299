package bundle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
)

// encrypter returns a function that encrypts files, and a reader that decrypts them.
func encrypter(t *testing.T) (encrypt func(plain string) string, reader bundle.Reader) {
	t.Helper()
	identity, recipient := sopstest.Age(t)
	keys, err := sops.New(sops.Keys{Age: secret.Hide([]string{identity})})
	if err != nil {
		t.Fatal(err)
	}
	return func(plain string) string { return sopstest.File{Age: []string{recipient}}.Encrypt(t, plain) }, bundle.Reader{Keys: keys}
}

func files(content map[string]string) fs.FS {
	made := fstest.MapFS{}
	for name, text := range content {
		made[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

const chartOfTest = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

func TestEncryptedValues(t *testing.T) {
	t.Parallel()

	encrypt, reader := encrypter(t)
	encrypted := encrypt("password: a-secret-password\nport: 443\ntls: true\nempty: \"\"\nlist: [a-secret-item]\nshown_unencrypted: plain\n")
	read := func(t *testing.T, encrypted string) bundle.Bundle {
		t.Helper()
		result, err := reader.Read(files(map[string]string{
			"fleet.yaml": "name: web\nhelm: {valuesFiles: [plain.yaml, secret.yaml], values: {password: none, kept: 1}}\n" +
				"targetCustomizations: [{name: a, clusterName: a, helm: {valuesFiles: [secret.yaml]}}]\n",
			"plain.yaml": "port: 80\nlist: [x, y]\n", "secret.yaml": encrypted, "Chart.yaml": chartOfTest,
		}), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return result.Bundles[0]
	}
	b := read(t, encrypted)
	want := map[string]any{
		"password": "a-secret-password", "port": 443.0, "tls": true, "empty": "", "list": []any{"a-secret-item"}, "shown_unencrypted": "plain", "kept": 1.0,
	}
	if diff := cmp.Diff(want, b.PlainValues(b.Definition.Helm.Values)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, file := range b.Files {
		if file.Name == "secret.yaml" {
			t.Error("the file of values belongs to the bundle")
		}
	}
	for _, printed := range []string{fmt.Sprintf("%+v", b), fmt.Sprintf("%#v", b), string(must(json.Marshal(b)))} {
		if strings.Contains(printed, "a-secret") {
			t.Errorf("the bundle prints its secrets: %s", printed)
		}
	}
	if again := read(t, encrypted); again.Digest != b.Digest {
		t.Error("the same files have another digest")
	}
	other := read(t, encrypt("password: a-secret-password\n"))
	if other.Digest == b.Digest || other.Content != b.Content {
		t.Error("the digest does not cover the encrypted text, or that of the content does")
	}
	// An encrypted text is replaced only in its own bundle.
	foreign := bundle.Bundle{Decrypted: secret.Hide(&bundle.Decrypted{Leaves: map[string]any{"x": "y"}})}
	if diff := cmp.Diff(b.Definition.Helm.Values, foreign.PlainValues(b.Definition.Helm.Values)); diff != "" {
		t.Errorf("another bundle decrypts the values:\n%s", diff)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func TestEncryptedManifests(t *testing.T) {
	t.Parallel()

	encrypt, reader := encrypter(t)
	const object = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: a-secret-password}\n"
	encrypted := encrypt(object)
	result, err := reader.Read(files(map[string]string{"a.yaml": "kind: A\n", "b/secret.yaml": encrypted}), bundle.ReadOptions{RepoName: "web"})
	if err != nil {
		t.Fatal(err)
	}
	b := result.Bundles[0]
	if diff := cmp.Diff([]bundle.File{{Name: "a.yaml", Content: []byte("kind: A\n")}, {Name: "b/secret.yaml", Content: []byte(encrypted)}}, b.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	plain := b.PlainFiles()
	if text := string(plain[1].Content); !strings.Contains(text, "a-secret-password") || sops.Marked(text) {
		t.Errorf("the decrypted file: %s", text)
	}
	if string(plain[0].Content) != "kind: A\n" {
		t.Error("another file has changed")
	}
	if diff := cmp.Diff([]string{"a-secret-password"}, b.Decrypted.Reveal().Texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestEncryptedFilesRefused(t *testing.T) {
	t.Parallel()

	encrypt, reader := encrypter(t)
	encrypted := encrypt("a: a-secret-value\n")
	leaf := strings.TrimPrefix(strings.SplitAfter(encrypted, "\n")[0], "a: ")
	tests := map[string]struct {
		files map[string]string
		// keys is true if the reader has the key.
		keys bool
		want string
	}{
		"a manifest without a key": {map[string]string{"a/secret.yaml": encrypted}, false, "decrypting a/secret.yaml: it is encrypted by sops for age age1"},
		"values without a key":     {map[string]string{"fleet.yaml": "helm: {valuesFiles: [v.yaml]}\n", "Chart.yaml": chartOfTest, "v.yaml": encrypted}, false, "decrypting v.yaml: it is encrypted by sops for age age1"},
		"a damaged manifest":       {map[string]string{"s.yaml": strings.Replace(encrypted, "a:", "b:", 1)}, true, "decrypting s.yaml: its encryption by sops is damaged"},
		"fleet.yaml":               {map[string]string{"fleet.yaml": encrypted, "a.yaml": "a: b"}, true, "decrypting fleet.yaml: the file with the options of a bundle must not be encrypted"},
		"a template":               {map[string]string{"Chart.yaml": chartOfTest, "templates/s.yaml": encrypted}, true, "decrypting templates/s.yaml: the file is encrypted by sops, and files of a chart are not decrypted"},
		"values of a chart":        {map[string]string{"fleet.yaml": "helm: {chart: c}\n", "c/Chart.yaml": chartOfTest, "c/values.yaml": encrypted}, true, "decrypting c/values.yaml: the file is encrypted by sops, and files of a chart are not decrypted"},
		"a file of a chart":        {map[string]string{"Chart.yaml": chartOfTest, "files/s.txt": encrypted}, true, "decrypting files/s.txt: the file is encrypted by sops, and files of a chart are not decrypted"},
		"a template of manifests":  {map[string]string{"a.yaml": "a: b", "templates/s.yaml": encrypted}, true, "decrypting templates/s.yaml: the file is encrypted by sops, and templates are not decrypted"},
		"input of kustomize":       {map[string]string{"kustomization.yaml": "resources: []\n", "s.env": encrypted}, true, "decrypting s.env: the file is encrypted by sops, and only .yaml, .yml and .json files are decrypted"},
		"a dotenv file":            {map[string]string{"kustomization.yaml": "resources: []\n", "s.env": "A=ENC[AES256_GCM,data:x]\nsops_mac=ENC[AES256_GCM,data:x]\n"}, true, "decrypting s.env: the file is encrypted by sops, and only .yaml, .yml and .json files are decrypted"},
		"an INI file":              {map[string]string{"kustomization.yaml": "resources: []\n", "s.ini": "[db]\npassword = ENC[AES256_GCM,data:x]\n\n[sops]\nversion = 3.9.0\nmac = ENC[AES256_GCM,data:x]\n"}, true, "decrypting s.ini: the file is encrypted by sops, and only .yaml, .yml and .json files are decrypted"},
		"a value in fleet.yaml":    {map[string]string{"fleet.yaml": "helm: {values: {x: [" + `"` + strings.TrimSpace(leaf) + `"` + "]}}\n", "Chart.yaml": chartOfTest}, true, "fleet.yaml: helm.values.x[0] contains a value encrypted by sops"},
		"a template value":         {map[string]string{"fleet.yaml": "helm: {templateValues: {x: " + `"` + strings.TrimSpace(leaf) + `"` + "}}\n", "Chart.yaml": chartOfTest}, true, "fleet.yaml: helm.templateValues.x contains a value encrypted by sops"},
		"a value copied": {
			map[string]string{"fleet.yaml": "helm: {valuesFiles: [v.yaml, w.yaml]}\n", "Chart.yaml": chartOfTest, "v.yaml": encrypted, "w.yaml": "x: " + leaf},
			true, "w.yaml: values.x contains a value encrypted by sops",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			of := bundle.Reader{}
			if tt.keys {
				of = reader
			}
			_, err := of.Read(files(tt.files), bundle.ReadOptions{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "a-secret") {
				t.Errorf("the error quotes a value: %v", err)
			}
		})
	}
}

// An encrypted file that is not deployed is not an error.
func TestEncryptedFilesBeside(t *testing.T) {
	t.Parallel()

	encrypt, _ := encrypter(t)
	encrypted := encrypt("a: b\n")
	operator := strings.Replace(encrypted, "a: ", "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\na: ", 1)
	_, err := bundle.Reader{}.Read(files(map[string]string{
		"a.yaml": "a: b", ".sops.yaml": encrypted, "notes.txt": encrypted, ".fleetignore": "ignored.yaml\n", "ignored.yaml": encrypted, "operator.yaml": operator,
	}), bundle.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
}

// The same rules apply to a fetched chart.
func TestEncryptedFilesAdded(t *testing.T) {
	t.Parallel()

	encrypt, reader := encrypter(t)
	b, _, err := reader.New("web", files(map[string]string{"secret.yaml": encrypt("a: b\n")}), fleetyaml.Definition{
		Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Chart: "c", Repo: "https://charts.example.com"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := bundle.Chart{Repo: "https://charts.example.com", Name: "c"}.Directory()
	chart := bundle.File{Name: folder + "/Chart.yaml", Content: []byte(chartOfTest)}
	whole, err := b.Add([]bundle.File{chart})
	if err != nil || !whole.HasSecrets() {
		t.Fatalf("the bundle with its chart: %v", err)
	}
	_, err = b.Add([]bundle.File{chart, {Name: folder + "/values.yaml", Content: []byte(encrypt("a: b\n"))}})
	if _, ok := errors.AsType[*bundle.EncryptedFileError](err); !ok {
		t.Errorf("error %v, want an *EncryptedFileError", err)
	}
}

// The number of encrypted files of a source is limited, because decryption takes time.
func TestAttackManyEncryptedFiles(t *testing.T) {
	t.Parallel()

	encrypt, reader := encrypter(t)
	encrypted := encrypt("a: b\n")
	content := map[string]string{}
	for i := range 1001 {
		content[fmt.Sprintf("%d.yaml", i)] = encrypted
	}
	_, err := reader.Read(files(content), bundle.ReadOptions{})
	if _, ok := errors.AsType[*bundle.CountError](err); !ok {
		t.Errorf("error %v, want a *CountError", err)
	}
}
