package sops

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	// maxKeys is the limit for the master keys of a file, and maxGroups for its key groups.
	maxKeys   = 100
	maxGroups = 8
	// maxEncryptedKey is the limit in bytes for an encrypted data key, and maxRule for a rule about
	// keys.
	maxEncryptedKey = 16 << 10
	maxRule         = 1 << 10
	// maxInstructions is the limit for a compiled rule, which runs for each key. A few characters
	// can compile to thousands of instructions.
	maxInstructions = 1000
	// maxNamed is the maximum number of recipients in an error.
	maxNamed = 10
)

// metadata describes the encryption of a file, as stored in the file (SOPS' stores/stores.go).
type metadata struct {
	groups    []group
	threshold int
	modified  string
	mac       string
	rule      rule
	// onlyEncrypted is true if the MAC covers only encrypted values.
	onlyEncrypted bool
}

// group is a list of master keys, each of which decrypts the same part of the data key.
type group struct {
	Age        []masterKey `yaml:"age"`
	PGP        []masterKey `yaml:"pgp"`
	KMS        []masterKey `yaml:"kms"`
	GCPKMS     []masterKey `yaml:"gcp_kms"`
	HuaweiKMS  []masterKey `yaml:"hckms"`
	AzureVault []masterKey `yaml:"azure_kv"`
	Vault      []masterKey `yaml:"hc_vault"`
}

// masterKey is a master key of any kind. For keys in a key service, only names are read, for
// errors.
type masterKey struct {
	Recipient    string `yaml:"recipient"`
	Fingerprint  string `yaml:"fp"`
	Encrypted    string `yaml:"enc"`
	ARN          string `yaml:"arn"`
	ResourceID   string `yaml:"resource_id"`
	KeyID        string `yaml:"key_id"`
	VaultURL     string `yaml:"vault_url"`
	VaultAddress string `yaml:"vault_address"`
}

// stored is the metadata in the format of a file.
type stored struct {
	group                   `yaml:",inline"`
	Groups                  []group `yaml:"key_groups"`
	Threshold               int     `yaml:"shamir_threshold"`
	LastModified            string  `yaml:"lastmodified"`
	MAC                     string  `yaml:"mac"`
	UnencryptedSuffix       string  `yaml:"unencrypted_suffix"`
	EncryptedSuffix         string  `yaml:"encrypted_suffix"`
	UnencryptedRegex        string  `yaml:"unencrypted_regex"`
	EncryptedRegex          string  `yaml:"encrypted_regex"`
	UnencryptedCommentRegex string  `yaml:"unencrypted_comment_regex"`
	EncryptedCommentRegex   string  `yaml:"encrypted_comment_regex"`
	MACOnlyEncrypted        bool    `yaml:"mac_only_encrypted"`
}

func readMetadata(node *yaml.Node) (metadata, error) {
	damaged := func(reason string) (metadata, error) {
		return metadata{}, &DamagedError{Line: node.Line, Reason: reason}
	}
	var s stored
	if node.Kind != yaml.MappingNode || node.Decode(&s) != nil {
		return damaged("its metadata is not metadata of sops")
	}
	m := metadata{groups: s.Groups, threshold: s.Threshold, mac: s.MAC, onlyEncrypted: s.MACOnlyEncrypted}
	if len(m.groups) == 0 {
		m.groups = []group{s.group}
	}
	if err := m.checkSizes(); err != nil {
		return metadata{}, err
	}
	modified, err := time.Parse(time.RFC3339, s.LastModified)
	if err != nil {
		return damaged("lastmodified is not a time")
	}
	m.modified = modified.Format(time.RFC3339)
	if len(m.groups) == 1 {
		m.threshold = 1 // SOPS can write any number there.
	}
	if m.threshold < 0 || m.threshold > len(m.groups) {
		return damaged("shamir_threshold is not between 1 and the number of key groups")
	}
	if s.UnencryptedCommentRegex != "" || s.EncryptedCommentRegex != "" {
		return damaged("it is encrypted by a rule about comments, which this provider does not support")
	}
	m.rule, err = newRule(s)
	return m, err
}

func (m metadata) checkSizes() error {
	if len(m.groups) > maxGroups {
		return &TooLargeError{What: fmt.Sprintf("more than %d key groups", maxGroups)}
	}
	count := 0
	for _, g := range m.groups {
		for _, key := range g.all() {
			if count++; count > maxKeys {
				return &TooLargeError{What: fmt.Sprintf("more than %d master keys", maxKeys)}
			}
			if len(key.Encrypted) > maxEncryptedKey {
				return &TooLargeError{What: fmt.Sprintf("an encrypted data key of more than %d KiB", maxEncryptedKey>>10)}
			}
		}
	}
	return nil
}

func (g group) all() []masterKey {
	var keys []masterKey
	for _, list := range [][]masterKey{g.Age, g.PGP, g.KMS, g.GCPKMS, g.HuaweiKMS, g.AzureVault, g.Vault} {
		keys = append(keys, list...)
	}
	return keys
}

// recipients returns the recipients that the file is encrypted for, as text for an error.
func (m metadata) recipients() []string {
	var names []string
	add := func(kind string, keys []masterKey, name func(masterKey) string) {
		for _, key := range keys {
			names = append(names, strings.TrimSpace(kind+" "+printable(name(key))))
		}
	}
	for _, g := range m.groups {
		add("age", g.Age, func(k masterKey) string { return k.Recipient })
		add("PGP", g.PGP, func(k masterKey) string { return k.Fingerprint })
		add("AWS KMS", g.KMS, func(k masterKey) string { return k.ARN })
		add("GCP KMS", g.GCPKMS, func(k masterKey) string { return k.ResourceID })
		add("Huawei KMS", g.HuaweiKMS, func(k masterKey) string { return k.KeyID })
		add("Azure Key Vault", g.AzureVault, func(k masterKey) string { return k.VaultURL })
		add("Vault", g.Vault, func(k masterKey) string { return k.VaultAddress })
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", len(names)-maxNamed))
	}
	return names
}

// rule describes which values are encrypted: those with a matching key on their path, or all
// others.
type rule struct {
	matches func(key string) bool
	// encrypts is true if matching values are encrypted. If it is false, all others are.
	encrypts bool
}

// defaultSuffix is the suffix of keys whose values are not encrypted, for a file without a rule.
const defaultSuffix = "_unencrypted"

func newRule(s stored) (rule, error) {
	var rules []rule
	for _, given := range []struct {
		text              string
		isRegex, encrypts bool
	}{
		{s.UnencryptedSuffix, false, false},
		{s.EncryptedSuffix, false, true},
		{s.UnencryptedRegex, true, false},
		{s.EncryptedRegex, true, true},
	} {
		if given.text == "" {
			continue
		}
		matches := func(key string) bool { return strings.HasSuffix(key, given.text) }
		if given.isRegex {
			compiled, err := compile(given.text)
			if err != nil {
				return rule{}, err
			}
			matches = compiled.MatchString
		}
		rules = append(rules, rule{matches, given.encrypts})
	}
	switch len(rules) {
	case 0:
		return rule{matches: func(key string) bool { return strings.HasSuffix(key, defaultSuffix) }}, nil
	case 1:
		return rules[0], nil
	}
	return rule{}, &DamagedError{Reason: "it has more than one rule about keys"}
}

func compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > maxRule {
		return nil, &TooLargeError{What: fmt.Sprintf("a regular expression of more than %d bytes", maxRule)}
	}
	none := &DamagedError{Reason: "its rule about keys is not a regular expression"}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, none
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, none
	}
	if len(program.Inst) > maxInstructions {
		return nil, &TooLargeError{What: "a regular expression that is too complex"}
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, none
	}
	return compiled, nil
}
