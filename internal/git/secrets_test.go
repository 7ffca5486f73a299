package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsOfCredentials(t *testing.T) {
	t.Parallel()
	credentials := Credentials{Username: "user", Password: "password", Token: "token", SSHPrivateKey: "key", SSHPassphrase: "passphrase", GitHubApp: &App{ID: "1", PrivateKey: "app key"}}
	if diff := cmp.Diff([]string{"password", "token", "key", "passphrase", "app key"}, credentials.Secrets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
