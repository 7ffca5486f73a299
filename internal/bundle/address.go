package bundle

import (
	"net/url"
	"strings"
)

// Shown returns an address for messages, without the parts that can be a credential: user and
// password, query, and fragment. The user of an SSH address is kept. address may be invalid.
func Shown(address string) string {
	address, hidden := cutAny(address, "?#")
	scheme, rest := "", address
	if before, after, ok := strings.Cut(address, "://"); ok {
		scheme, rest = before+"://", after
	} else if before, after, ok := strings.Cut(address, "::"); ok {
		scheme, rest = before+"::", after
	}
	// A password can contain a slash, and a path an at sign. If in doubt, too much is cut.
	if user, host, ok := cutLast(rest, "@"); ok && (strings.HasSuffix(scheme, "://") || strings.Contains(user, ":")) {
		if strings.HasSuffix(scheme, "ssh://") && !strings.ContainsAny(user, ":/") {
			host = user + "@" + host // Such as git.
		}
		rest = host
	}
	if hidden {
		return scheme + rest + "?…"
	}
	return scheme + rest
}

func cutAny(text, chars string) (before string, found bool) {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return text[:i], true
	}
	return text, false
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// RefuseCredentials returns why an address is refused, "" if it has no credentials. Addresses are
// stored in Terraform's state and repeated in errors.
func RefuseCredentials(address string) string {
	const advice = " must not be part of an address; configure it in the provider, under git or registries"
	_, address = forcedScheme(address)
	scheme, rest, hasScheme := strings.Cut(address, "://")
	authority, _ := cutAny(rest, "/?#")
	if !hasScheme {
		authority, _ = cutAny(address, "/?#")
	}
	if user, _, ok := cutLast(authority, "@"); ok {
		// A name alone can be a token, except on SSH servers.
		if strings.Contains(user, ":") || hasScheme && scheme != "ssh" && scheme != "git" {
			return "a user or a password" + advice
		}
	}
	if parsed, err := url.Parse(address); err == nil && parsed.User != nil {
		if _, password := parsed.User.Password(); password {
			return "a password" + advice
		}
	}
	_, query, _ := strings.Cut(address, "?")
	query, _, _ = strings.Cut(query, "#")
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if namesCredential(name) {
			return "a key, a token or a signature" + advice
		}
	}
	return ""
}

// namesCredential reports whether servers use a name for a token or a signature in a query,
// such as private_token and X-Amz-Signature.
func namesCredential(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{
		"token", "secret", "passw", "credential",
		"signature", "apikey", "api_key", "api-key", "access_key", "accesskey", "sshkey",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	switch name {
	case "key", "sig", "auth", "authorization", "jwt", "pwd", "pass":
		return true
	}
	return false
}
