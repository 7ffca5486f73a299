package connect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// Requests that wait for credentials get an error if reading them panics.
func TestPanicWhileCredentialsAreRead(t *testing.T) {
	t.Parallel()
	a := newAuthenticator(time.Minute, func(context.Context) (*credentials, error) { panic("broken") })
	_, err := a.credentials(t.Context())
	if panicked := new(panics.Error); !errors.As(err, &panicked) {
		t.Errorf("error = %v, want a *panics.Error", err)
	}
	if _, err = a.credentials(t.Context()); err == nil {
		t.Error("nothing was read, and nobody hears of it")
	}
}
