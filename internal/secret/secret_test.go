package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const password = "hunter2"

type input struct {
	Name    string
	Values  secret.Of[map[string]any]
	Pointer *secret.Of[string]
	List    []secret.Of[[]byte]
}

func newInput() input {
	word := secret.Hide(password)
	return input{
		Name: "web", Values: secret.Hide(map[string]any{"password": password}), Pointer: &word,
		List: []secret.Of[[]byte]{secret.Hide([]byte(password))},
	}
}

func TestReveal(t *testing.T) {
	t.Parallel()
	if got := newInput().Values.Reveal()["password"]; got != password {
		t.Errorf("got %v, want the value", got)
	}
	if !secret.Hide(password).Equal(secret.Hide("hunter"+"2")) || secret.Hide(password).Equal(secret.Hide("")) {
		t.Error("two secrets are compared wrongly")
	}
	if got := (secret.Of[string]{}).Reveal(); got != "" {
		t.Errorf("the zero secret is %q", got)
	}
}

// No verb prints a secret, not even in hexadecimal or in a structure.
func TestFormat(t *testing.T) {
	t.Parallel()
	of := newInput()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%c", "%U", "%e", "%b", "%T", "%w"} {
		for name, value := range map[string]any{
			"a value": of.Values, "a pointer": of.Pointer, "a list": of.List, "a structure": of, "a pointer to a structure": &of, "an error": fmt.Errorf("reading %v", of),
		} {
			expectHidden(t, verb+" of "+name, fmt.Sprintf(verb, value))
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	encoders := map[string]func(any) ([]byte, error){
		"JSON": json.Marshal,
		"YAML": yaml.Marshal,
		"CBOR": cbor.Marshal,
		"XML":  func(any) ([]byte, error) { return xml.Marshal(newInput().List) },
		"slog": func(value any) ([]byte, error) {
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("read", "input", value, "values", newInput().Values)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("read", "input", value, "values", newInput().Values)
			return log.Bytes(), nil
		},
	}
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := encode(newInput())
			if err != nil {
				t.Fatal(err)
			}
			expectHidden(t, name, string(text))
		})
	}
}

// expectHidden fails if a text has the password, also as hexadecimal digits, numbers or base64.
func expectHidden(t *testing.T, what, text string) {
	t.Helper()
	for _, form := range []string{password, fmt.Sprintf("%x", password), fmt.Sprintf("%X", password), fmt.Sprintf("% x", password), strings.Trim(fmt.Sprintf("%d", []byte(password)), "[]"), "aHVudGVyMg"} {
		if strings.Contains(text, form) {
			t.Errorf("%s has the secret: %s", what, text)
		}
	}
}
