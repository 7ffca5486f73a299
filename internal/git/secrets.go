package git

// Secrets returns the values of the credentials that must stay secret.
func (c Credentials) Secrets() []string {
	secrets := []string{c.Password.Reveal(), c.Token.Reveal(), c.SSHPrivateKey.Reveal(), c.SSHPassphrase.Reveal()}
	if c.GitHubApp != nil {
		secrets = append(secrets, c.GitHubApp.PrivateKey.Reveal())
	}
	return secrets
}
