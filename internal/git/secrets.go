package git

// Secrets returns the values of the credentials that must stay secret.
func (c Credentials) Secrets() []string {
	secrets := []string{c.Password, c.Token, c.SSHPrivateKey, c.SSHPassphrase}
	if c.GitHubApp != nil {
		secrets = append(secrets, c.GitHubApp.PrivateKey)
	}
	return secrets
}
