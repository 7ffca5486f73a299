package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func TestSecretsOfCredentials(t *testing.T) {
	t.Parallel()
	credentials := Credentials{Username: "user", Password: secret.Hide("password"), Token: secret.Hide("token"), SSHPrivateKey: secret.Hide("key"), SSHPassphrase: secret.Hide("passphrase"), GitHubApp: &App{ID: "1", PrivateKey: secret.Hide("app key")}}
	if diff := cmp.Diff([]string{"password", "token", "key", "passphrase", "app key"}, credentials.Secrets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
