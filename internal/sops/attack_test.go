package sops_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
)

// The author of a file also writes its metadata. The metadata cannot make the provider open a
// connection, run a program, or use a key that is not in its configuration.
func TestAttackMetadata(t *testing.T) {
	identity, recipient := sopstest.Age(t)
	foreign, foreignRecipient := sopstest.Age(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = connection.Close()
		}
	}()
	home, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	keys := filepath.Join(home, ".config", "sops", "age", "keys.txt")
	if err := os.MkdirAll(filepath.Dir(keys), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, []byte(identity), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"gpg", "age-plugin-x"} {
		if err := os.WriteFile(filepath.Join(home, program), []byte("#!/bin/sh\necho ran > "+ran+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	address := listener.Addr().String()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "PATH": home, "SOPS_AGE_KEY": identity, "SOPS_AGE_KEY_FILE": keys,
		"SOPS_AGE_KEY_CMD": "echo " + identity, "SOPS_GPG_EXEC": filepath.Join(home, "gpg"), "SOPS_KEYSERVICE": "tcp://" + address,
		"VAULT_ADDR": "http://" + address, "VAULT_TOKEN": "x", "AWS_ENDPOINT_URL": "http://" + address, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
	} {
		t.Setenv(name, value)
	}
	remote := map[string]any{
		"hc_vault": []any{map[string]any{"vault_address": "http://" + address, "engine_path": "transit", "key_name": "k", "enc": "vault:v1:eA==", "created_at": sopstest.Modified}},
		"kms":      []any{map[string]any{"arn": "arn:aws:kms:eu-west-1:123456789012:key/x", "enc": "eA==", "created_at": sopstest.Modified}},
		"gcp_kms":  []any{map[string]any{"resource_id": "projects/p/locations/l/keyRings/r/cryptoKeys/k", "enc": "eA==", "created_at": sopstest.Modified}},
		"azure_kv": []any{map[string]any{"vault_url": "http://" + address, "name": "k", "version": "1", "enc": "eA==", "created_at": sopstest.Modified}},
		"pgp":      []any{map[string]any{"fp": "0123456789ABCDEF0123456789ABCDEF01234567", "enc": "-----BEGIN PGP MESSAGE-----\n\neA==\n-----END PGP MESSAGE-----"}},
	}
	content := sopstest.File{Age: []string{recipient}, Metadata: remote}.Encrypt(t, "password: a-secret-of-the-attack")
	for name, configured := range map[string]sops.Keys{"no key": {}, "another key": {Age: secret.Hide([]string{foreign})}} {
		_, err := newDecrypter(t, configured).Open([]byte(content))
		if _, ok := errors.AsType[*sops.NoKeyError](err); !ok {
			t.Errorf("%s: error %v, want that no key fits", name, err)
		}
		for _, named := range []string{recipient, address, "arn:aws:kms", "0123456789ABCDEF"} {
			if err == nil || !strings.Contains(err.Error(), named) {
				t.Errorf("%s: the error does not name the recipient %s: %v", name, named, err)
			}
		}
	}
	// The matching key is used although others are listed first.
	withKey := sopstest.File{Age: []string{foreignRecipient, recipient}, Metadata: remote}.Encrypt(t, "password: a-secret-of-the-attack")
	if _, err := newDecrypter(t, sops.Keys{Age: secret.Hide([]string{identity})}).Open([]byte(withKey)); err != nil {
		t.Errorf("with the key: %v", err)
	}
	_ = listener.Close()
	<-accepted
	if got := connections.Load(); got != 0 {
		t.Errorf("%d connections to the address in the metadata", got)
	}
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Error("a program was run")
	}
}

// Open does not panic on any text, no error quotes a value, and a decrypted text does not count as
// encrypted.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"age.yaml", "age.json", "shamir.yaml", "object.yaml", "mac-only.yaml", "pgp.yaml"} {
		f.Add([]byte(fixture(f, name)))
	}
	d := newDecrypter(f, sops.Keys{Age: secret.Hide(identities(f)), PGP: secret.Hide([]string{fixture(f, "pgp.asc")})})
	f.Fuzz(func(t *testing.T, content []byte) {
		opened, err := d.Open(content)
		if err != nil {
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("an error quotes a value: %v", err)
			}
			return
		}
		if sops.Encrypted(opened.Plain) {
			t.Errorf("what was decrypted counts as encrypted: %q", opened.Plain)
		}
	})
}
