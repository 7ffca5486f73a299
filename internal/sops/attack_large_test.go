//go:build !race

package sops_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
)

// A file cannot cause work that takes long.
func TestAttackWork(t *testing.T) {
	t.Parallel()

	identity, recipient := sopstest.Age(t)
	d := newDecrypter(t, sops.Keys{Age: secret.Hide([]string{identity})})
	sealed, err := sopstest.SealAge(make([]byte, 32), recipient)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("k", 1000)
	tests := map[string]string{
		"many keys that do not fit together": sopstest.File{Metadata: map[string]any{"key_groups": slicesOf(map[string]any{
			"age": []any{map[string]string{"recipient": recipient, "enc": sealed}},
		}, 30)}}.Encrypt(t, "a: b"),
		"a rule of few characters": sopstest.File{Age: []string{recipient}, EncryptedRegex: "(((x?){9}){9}){9}$"}.Encrypt(t, long+": b\n"),
		"keys without end":         sopstest.File{Age: []string{recipient}, EncryptedRegex: "(x?){90}$"}.Encrypt(t, "a: b\n") + manyKeys(2000, long),
		"a rule for long keys":     sopstest.File{Age: []string{recipient}, EncryptedRegex: "(k+)+(k*)*$"}.Encrypt(t, strings.Repeat(long+"x: ", 1)+"b"),
		"a bomb of aliases":        sopstest.File{Age: []string{recipient}}.Encrypt(t, "a: b") + "x: &x [1]\ny: [*x, *x]\n",
		"brackets":                 "sops: {lastmodified: x, age: " + strings.Repeat("[", 100_000),
		"values of no use":         sopstest.File{Age: []string{recipient}}.Encrypt(t, "a: b") + strings.Repeat("- ENC[AES256_GCM,\n", 100_000),
		"a message of no key":      strings.ReplaceAll(sopstest.File{Age: []string{recipient}}.Encrypt(t, "a: b"), "-> X25519", "-> scrypt"),
		"many small documents":     sopstest.File{Age: []string{recipient}}.Encrypt(t, "a: b") + strings.Repeat("---\n{}\n", 200_000),
		"names of any length":      sopstest.File{Metadata: map[string]any{"kms": []any{map[string]string{"arn": strings.Repeat("\x1b[2J", 100_000)}}}}.Encrypt(t, "a: b"),
		"metadata of all kinds":    "sops:\n  lastmodified: [1]\n  age: {a: b}\n  mac: 7\n",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			begin := time.Now()
			_, err := d.Open([]byte(content))
			// This takes half a second alone. The race detector and other tests make it much
			// slower.
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if err != nil && (len(err.Error()) > 2000 || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("an error of %d bytes: %.200q", len(err.Error()), err)
			}
		})
	}
}

func manyKeys(count int, end string) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "%d%s: \"\"\n", i, end)
	}
	return text.String()
}
