package git

// Secrets are the values of credentials that nobody may read.
func (c Credentials) Secrets() []string {
	secrets := []string{c.Password, c.Token, c.SSHPrivateKey, c.SSHPassphrase}
	if c.GitHubApp != nil {
		secrets = append(secrets, c.GitHubApp.PrivateKey)
	}
	return secrets
}
