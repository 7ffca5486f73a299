package connect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func TestStored(t *testing.T) {
	t.Parallel()
	exec := func(change func(*Exec)) *Exec {
		made := &Exec{APIVersion: "v1", Command: "login"}
		change(made)
		return made
	}
	tests := map[string]struct {
		connection Connection
		kept       bool
	}{
		"context":            {Connection{ConfigPaths: []string{"~/.kube/config"}, ConfigContext: "a", ConfigContextCluster: "b", ConfigContextAuthInfo: "c"}, true},
		"token file":         {Connection{Host: "https://a:1", TokenFile: "t", ClusterCACertificate: "ca", TLSServerName: "n", QPS: 1, Burst: 2, RequestTimeout: time.Second, ImpersonateUser: "u", Insecure: true}, true},
		"command":            {Connection{Host: "a:1", Exec: exec(func(*Exec) {})}, true},
		"proxy":              {Connection{Host: "a", TokenFile: "t", ProxyURL: "http://proxy"}, true},
		"environment":        {Connection{}, true},
		"namespaces":         {Connection{Host: "a", TokenFile: "t", Namespaces: []string{"n"}}, true},
		"arguments":          {Connection{Host: "a", Exec: exec(func(e *Exec) { e.Args = []string{"--token=secret"} })}, false},
		"variables":          {Connection{Host: "a", Exec: exec(func(e *Exec) { e.Env = map[string]string{"A": "secret"} })}, false},
		"token":              {Connection{Host: "a", Token: secret.Hide("secret")}, false},
		"password":           {Connection{Host: "a", Username: "u", Password: secret.Hide("secret")}, false},
		"key":                {Connection{Host: "a", ClientCertificate: "c", ClientKey: secret.Hide("secret")}, false},
		"kubeconfig":         {Connection{Kubeconfig: secret.Hide("secret")}, false},
		"user of the proxy":  {Connection{Host: "a", TokenFile: "t", ProxyURL: "http://user:secret@proxy"}, false}, //nolint:gosec // no real password
		"user of the host":   {Connection{Host: "https://user:secret@a", TokenFile: "t"}, false},                   //nolint:gosec // no real password
		"the same, shorter":  {Connection{Host: "user:secret@a", TokenFile: "t"}, false},
		"query of the host":  {Connection{Host: "https://a?token=secret", TokenFile: "t"}, false},
		"query of the proxy": {Connection{Host: "https://a", TokenFile: "t", ProxyURL: "http://a?token=secret"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, kept := test.connection.Stored()
			if kept != test.kept {
				t.Fatalf("it is kept: %t", kept)
			}
			raw, err := json.Marshal(stored)
			if err != nil || strings.Contains(string(raw), "secret") {
				t.Errorf("stored is %s, %v", raw, err)
			}
			var read Connection
			if err := json.Unmarshal(raw, &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.connection, read); kept && diff != "" {
				t.Errorf("(-given +kept):\n%s", diff)
			}
		})
	}
}

// A new field of a connection is either kept, or a connection with it is not kept.
func TestStoredKnowsAllFields(t *testing.T) {
	t.Parallel()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Connection]()) {
		tag, decided := field.Tag.Lookup("json")
		if !decided {
			t.Errorf("%s has no tag that says whether it is kept", field.Name)
		}
		if tag != "-" {
			continue
		}
		filled := Connection{Host: "a"}
		switch value := reflect.ValueOf(&filled).Elem().FieldByIndex(field.Index); {
		case value.Kind() == reflect.String:
			value.SetString("x")
		case value.Type() == reflect.TypeFor[secret.Of[string]]():
			value.Set(reflect.ValueOf(secret.Hide("x")))
		default:
			t.Errorf("%s is neither kept nor tested", field.Name)
		}
		if _, ok := filled.Stored(); ok {
			t.Errorf("a connection is kept without its %s", field.Name)
		}
	}
}
