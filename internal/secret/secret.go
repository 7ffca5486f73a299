// Package secret has the type of secret input, so that no code can print, log or store it by mistake.
package secret

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Of hides a value. Every verb of fmt, every encoder and every logger gets mask.Sensitive or nothing
// in its place. Only Reveal returns the value, and a test names the packages that call it. The zero
// Of hides the zero value.
type Of[T any] struct {
	// plain is a function, because fmt prints the fields of what it cannot format, as for %w.
	plain func() T
}

// Hide returns a value as a secret.
func Hide[T any](plain T) Of[T] { return Of[T]{func() T { return plain }} }

// Reveal returns the value.
func (o Of[T]) Reveal() (plain T) {
	if o.plain != nil {
		return o.plain()
	}
	return plain
}

// IsZero reports whether the value is the zero value.
func (o Of[T]) IsZero() bool {
	plain := o.Reveal()
	return reflect.ValueOf(&plain).Elem().IsZero()
}

// Format implements fmt.Formatter for all verbs.
func (Of[T]) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, mask.Sensitive) }

// MarshalText implements encoding.TextMarshaler for JSON, YAML and XML. Other encoders find no
// exported field.
func (Of[T]) MarshalText() ([]byte, error) { return []byte(mask.Sensitive), nil }

// LogValue implements slog.LogValuer.
func (Of[T]) LogValue() slog.Value { return slog.StringValue(mask.Sensitive) }

// Equal reports whether two secrets are the same, for tests.
func (o Of[T]) Equal(other Of[T]) bool { return reflect.DeepEqual(o.Reveal(), other.Reveal()) }
