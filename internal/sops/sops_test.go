package sops_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
)

func fixture(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// identities are the age identities of the fixtures: two of X25519, and a post-quantum one.
func identities(tb testing.TB) []string {
	tb.Helper()
	var found []string
	for line := range strings.Lines(fixture(tb, "age.txt")) {
		if !strings.HasPrefix(line, "#") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func newDecrypter(tb testing.TB, keys sops.Keys) *sops.Decrypter {
	tb.Helper()
	d, err := sops.New(keys)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// documents decodes the documents of a text.
func documents(tb testing.TB, text string) []any {
	tb.Helper()
	var all []any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var content any
		if err := decoder.Decode(&content); err != nil {
			return all
		}
		all = append(all, content)
	}
}

// Files that sops 3.13.3 has written decrypt to what it was given.
func TestOpensWhatSOPSWrites(t *testing.T) {
	t.Parallel()

	age, pgp := identities(t), fixture(t, "pgp.asc")
	tests := map[string]struct {
		file, plain string
		keys        sops.Keys
	}{
		"age":                   {"age.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age[:1])}},
		"a file of identities":  {"age.yaml", "plain.yaml", sops.Keys{Age: secret.Hide([]string{fixture(t, "age.txt")})}},
		"age, post-quantum":     {"pq.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age[2:])}},
		"PGP":                   {"pgp.yaml", "plain.yaml", sops.Keys{PGP: secret.Hide([]string{pgp})}},
		"two groups of three":   {"shamir.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age[:1]), PGP: secret.Hide([]string{pgp})}},
		"two others":            {"shamir.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age[:2])}},
		"all groups":            {"shamir.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age), PGP: secret.Hide([]string{pgp})}},
		"a MAC of some values":  {"mac-only.yaml", "plain.yaml", sops.Keys{Age: secret.Hide(age)}},
		"two documents, a rule": {"object.yaml", "object-plain.yaml", sops.Keys{Age: secret.Hide(age)}},
		"JSON":                  {"age.json", "plain.json", sops.Keys{Age: secret.Hide(age)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			content := fixture(t, tt.file)
			if !sops.Encrypted([]byte(content)) {
				t.Error("it does not count as encrypted")
			}
			opened, err := newDecrypter(t, tt.keys).Open([]byte(content))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(tt.file, ".json") && !json.Valid(opened.Plain) {
				t.Error("it is no JSON")
			}
			want := documents(t, fixture(t, tt.plain))
			if root, ok := want[0].(map[string]any); ok && root["moment"] != nil && tt.file != "mac-only.yaml" {
				root["moment"] = "2024-05-06T07:08:09Z" // A chart gets a text.
			}
			if diff := cmp.Diff(want, documents(t, string(opened.Plain))); diff != "" {
				t.Errorf("what it holds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()

	age := identities(t)
	keys := sops.Keys{Age: secret.Hide(age[:1])}
	whole := fixture(t, "age.yaml")
	line := func(begin string) string {
		for line := range strings.Lines(whole) {
			if strings.HasPrefix(line, begin) {
				return line
			}
		}
		t.Fatalf("no line begins with %q", begin)
		return ""
	}
	replace := func(old, with string) string { return strings.Replace(whole, old, with, 1) }
	moved := replace(line("text: "), "text: "+strings.TrimPrefix(line("number: "), "number: "))
	tests := map[string]struct {
		content string
		keys    sops.Keys
		want    string
		is      error
	}{
		"no keys":               {whole, sops.Keys{}, "it is encrypted by sops for age age1", &sops.NoKeyError{}},
		"another key":           {whole, sops.Keys{Age: secret.Hide(age[1:2])}, "and no key in the provider's attribute sops decrypts it", &sops.NoKeyError{}},
		"one group of two":      {fixture(t, "shamir.yaml"), keys, "PGP ", &sops.NoKeyError{}},
		"a value moved":         {moved, keys, "moved from another place", &sops.DamagedError{}},
		"a value in plain text": {replace(line("number: "), "number: 42\n"), keys, "should be encrypted is not", &sops.DamagedError{}},
		"a value added":         {replace("empty: \"\"", "empty: \"\"\nadded_unencrypted: true"), keys, "MAC", &sops.DamagedError{}},
		"a plain value changed": {replace("shown_unencrypted: plain", "shown_unencrypted: other"), keys, "MAC", &sops.DamagedError{}},
		"a value removed":       {replace(line("text: "), ""), keys, "MAC", &sops.DamagedError{}},
		"another time":          {replace("lastmodified: \"2", "lastmodified: \"1"), keys, "MAC", &sops.DamagedError{}},
		"a value twice":         {replace(line("text: "), line("text: ")+line("text: ")), keys, "twice", &sops.DamagedError{}},
		"an alias":              {replace("nothing: null", "nothing: &a null\nagain: *a"), keys, "aliases", &sops.DamagedError{}},
		"a key that is no text": {replace("nothing: null", "1: null"), keys, "not text", &sops.DamagedError{}},
		"no document with data": {"a: b\n---\n" + whole, keys, "first document", &sops.DamagedError{}},
		"too large":             {whole + strings.Repeat("#", 5<<20), keys, "too large", &sops.TooLargeError{}},
		"too deep":              {replace("nothing: null", "nothing: "+strings.Repeat("[", 300)+strings.Repeat("]", 300)), keys, "too large", &sops.TooLargeError{}},
		"no YAML":               {whole + "\n\t:", keys, "neither YAML nor JSON", &sops.DamagedError{}},
		"a rule about comments": {replace("    version:", "    encrypted_comment_regex: x\n    version:"), keys, "comments", &sops.DamagedError{}},
		"two rules":             {replace("    version:", "    encrypted_regex: x\n    version:"), keys, "more than one rule", &sops.DamagedError{}},
		"a long rule":           {replace("    version:", "    encrypted_regex: "+strings.Repeat("x", 2000)+"\n    version:"), keys, "regular expression", &sops.TooLargeError{}},
		"a threshold too high":  {strings.Replace(fixture(t, "shamir.yaml"), "shamir_threshold: 2", "shamir_threshold: 9", 1), keys, "threshold", &sops.DamagedError{}},
		"many master keys": {
			sopstest.File{Metadata: map[string]any{"age": slicesOf(map[string]string{"recipient": "x", "enc": "y"}, 200)}}.Encrypt(t, "a: b"),
			keys, "master keys", &sops.TooLargeError{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := newDecrypter(t, tt.keys).Open([]byte(tt.content))
			if err == nil {
				t.Fatal("it is decrypted")
			}
			if got, want := fmt.Sprintf("%T", err), fmt.Sprintf("%T", tt.is); got != want || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %s %q, want %s with %q", got, err, want, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "AGE-SECRET") || strings.Contains(err.Error(), "ENC[") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

func slicesOf(value any, count int) []any {
	made := make([]any, count)
	for i := range made {
		made[i] = value
	}
	return made
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()

	private := fixture(t, "pgp.asc")
	tests := map[string]struct {
		keys sops.Keys
		want string
	}{
		"no age identity": {sops.Keys{Age: secret.Hide([]string{identities(t)[0], "AGE-SECRET-KEY-1HIDDEN"})}, "age key 2: it is not an age identity, which begins with AGE-SECRET-KEY-1"},
		"a recipient":     {sops.Keys{Age: secret.Hide([]string{"age1hidden"})}, "age key 1: it is not an age identity, which begins with AGE-SECRET-KEY-1"},
		"an ssh key":      {sops.Keys{Age: secret.Hide([]string{"-----BEGIN OPENSSH PRIVATE KEY-----"})}, "age key 1: it is not an age identity, which begins with AGE-SECRET-KEY-1"},
		"a plugin":        {sops.Keys{Age: secret.Hide([]string{"AGE-PLUGIN-YUBIKEY-1QQ"})}, "age key 1: it is not an age identity, which begins with AGE-SECRET-KEY-1"},
		"nothing":         {sops.Keys{Age: secret.Hide([]string{""})}, "age key 1: it is not an age identity, which begins with AGE-SECRET-KEY-1"},
		"no PGP key":      {sops.Keys{PGP: secret.Hide([]string{"hidden"})}, "pgp key 1: it is not an armored OpenPGP private key; export one with gpg --export-secret-keys --armor"},
		"half a PGP key":  {sops.Keys{PGP: secret.Hide([]string{private[:len(private)/2]})}, "pgp key 1: it is not an armored OpenPGP private key; export one with gpg --export-secret-keys --armor"},
		"too long":        {sops.Keys{PGP: secret.Hide([]string{strings.Repeat("hidden", 1<<20)})}, "pgp key 1: it is longer than 1 MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := sops.New(tt.keys)
			var wrong *sops.KeyError
			if !errors.As(err, &wrong) || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()

	const block = "sops: {mac: 'ENC[AES256_GCM,data:x]', lastmodified: '2024-01-01T00:00:00Z'}"
	tests := map[string]struct {
		content string
		want    bool
	}{
		"YAML":                      {"a: b\n" + block, true},
		"JSON":                      {`{"sops": {"mac": "ENC[AES256_GCM,data:x]"}}`, true},
		"a later document":          {"a: b\n---\n" + block, true},
		"a MAC taken away":          {"sops: {lastmodified: x}", true},
		"a chart's own value":       {"sops: {enabled: true, lastmodifiedBy: me}", false},
		"a text":                    {"sops: ENC[AES256_GCM,]", false},
		"in a map":                  {"a: {" + block + "}", false},
		"a template":                {"{{ if .Values.sops }}\nlastmodified: {{ .x }}\n{{ end }}", false},
		"nothing":                   {"", false},
		"an operator's object":      {"apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\n" + block, false},
		"another kind of that name": {"apiVersion: example.com/v1\nkind: SopsSecret\n" + block, true},
		"too large to look":         {block + strings.Repeat(" ", 5<<20), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := sops.Encrypted([]byte(tt.content)); got != tt.want {
				t.Errorf("encrypted: %t, want %t", got, tt.want)
			}
		})
	}
}

// Leaves and Texts of a decrypted file.
func TestLeavesAndTexts(t *testing.T) {
	t.Parallel()

	identity, recipient := sopstest.Age(t)
	private, public := sopstest.PGP(t)
	encrypted := sopstest.File{Age: []string{recipient}}.Encrypt(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {a: secret-one, n: 7, b: true}\n")
	opened, err := newDecrypter(t, sops.Keys{Age: secret.Hide([]string{identity})}).Open([]byte(encrypted))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"secret-one", "7"}, opened.Texts); diff != "" {
		t.Errorf("texts to hide (-want +got):\n%s", diff)
	}
	values := map[any]bool{}
	for text, value := range opened.Leaves {
		if !sops.Marked(text) {
			t.Errorf("%q stands for a value", text)
		}
		values[value] = true
	}
	if diff := cmp.Diff(map[any]bool{"v1": true, "Secret": true, "db": true, "secret-one": true, 7.0: true, true: true}, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	encrypted = sopstest.File{PGP: []*openpgp.Entity{public}}.Encrypt(t, "a: b")
	if _, err := newDecrypter(t, sops.Keys{PGP: secret.Hide([]string{private})}).Open([]byte(encrypted)); err != nil {
		t.Errorf("a key of an elliptic curve: %v", err)
	}
}
