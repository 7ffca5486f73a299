package sops

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const (
	// dataKeySize is the size of a data key in bytes.
	dataKeySize = 32
	// maxFailed limits how many attempts to decrypt master keys of a file may fail. An attempt with
	// OpenPGP takes milliseconds.
	maxFailed = 4
	// maxConfigured is the limit in bytes for one configured key, which can contain several keys.
	maxConfigured = 1 << 20
	// shortestFingerprint is the minimum number of hexadecimal digits that identify an OpenPGP key.
	shortestFingerprint = 16
)

// Keys are the keys that files are decrypted with.
type Keys struct {
	// Age are age identities. An entry can be a whole file of identities, with comments.
	Age secret.Of[[]string]
	// PGP are armored OpenPGP private keys without a passphrase.
	PGP secret.Of[[]string]
	// Unknown is true if the keys are not known yet. Decryption then fails with an
	// *UnknownKeysError.
	Unknown bool
}

// Secrets returns the keys, which must stay secret.
func (k Keys) Secrets() []string { return slices.Concat(k.Age.Reveal(), k.PGP.Reveal()) }

// Decrypter decrypts files. It is safe for concurrent use.
type Decrypter struct {
	age     map[string]age.Identity // By recipient.
	pgp     []pgpKey
	unknown bool
}

// pgpKey is a private key, and the fingerprints of it and its subkeys.
type pgpKey struct {
	entity       *openpgp.Entity
	fingerprints []string
}

// New makes a Decrypter. Without keys, it decrypts nothing and returns an error for each encrypted
// file.
//
// Errors: *KeyError, which never contains a key.
func New(keys Keys) (*Decrypter, error) {
	d := &Decrypter{age: map[string]age.Identity{}, unknown: keys.Unknown}
	for i, text := range keys.Age.Reveal() {
		if err := d.addAge(text); err != nil {
			return nil, &KeyError{Kind: "age", Index: i, Reason: err.Error()}
		}
	}
	for i, text := range keys.PGP.Reveal() {
		if err := d.addPGP(text); err != nil {
			return nil, &KeyError{Kind: "pgp", Index: i, Reason: err.Error()}
		}
	}
	return d, nil
}

var (
	errTooLong    = errors.New("it is longer than 1 MiB")
	errNoAge      = errors.New("it is not an age identity, which begins with AGE-SECRET-KEY-1")
	errNoPGP      = errors.New("it is not an armored OpenPGP private key; export one with gpg --export-secret-keys --armor")
	errPublic     = errors.New("it is a public key; set the private key")
	errPassphrase = errors.New("it has a passphrase; set a key without one")
)

// addAge reads identities. It does not return the library's errors, because they quote the text.
func (d *Decrypter) addAge(text string) error {
	if len(text) > maxConfigured {
		return errTooLong
	}
	identities, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return errNoAge
	}
	for _, identity := range identities {
		switch identity := identity.(type) {
		case *age.X25519Identity:
			d.age[identity.Recipient().String()] = identity
		case *age.HybridIdentity:
			d.age[identity.Recipient().String()] = identity
		default:
			return errNoAge
		}
	}
	return nil
}

func (d *Decrypter) addPGP(text string) error {
	if len(text) > maxConfigured {
		return errTooLong
	}
	entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
	if err != nil || len(entities) == 0 {
		return errNoPGP
	}
	for _, entity := range entities {
		key, err := newPGPKey(entity)
		if err != nil {
			return err
		}
		d.pgp = append(d.pgp, key)
	}
	return nil
}

func newPGPKey(entity *openpgp.Entity) (pgpKey, error) {
	if entity.PrivateKey == nil {
		return pgpKey{}, errPublic
	}
	key := pgpKey{entity: entity, fingerprints: []string{hex.EncodeToString(entity.PrimaryKey.Fingerprint)}}
	// The private part of the primary key can be stored elsewhere, because subkeys decrypt.
	usable := !entity.PrivateKey.Encrypted && !entity.PrivateKey.Dummy()
	for _, subkey := range entity.Subkeys {
		key.fingerprints = append(key.fingerprints, hex.EncodeToString(subkey.PublicKey.Fingerprint))
		usable = usable || subkey.PrivateKey != nil && !subkey.PrivateKey.Encrypted && !subkey.PrivateKey.Dummy()
	}
	if !usable {
		return pgpKey{}, errPassphrase
	}
	return key, nil
}

// dataKey decrypts the key that the values of a file are encrypted with.
func (d *Decrypter) dataKey(m metadata) ([]byte, error) {
	var parts [][]byte
	failed := 0
	for _, g := range m.groups {
		if part, ok := d.part(g, &failed); ok {
			parts = append(parts, part)
		}
	}
	threshold := m.threshold
	if threshold == 0 {
		threshold = len(m.groups)
	}
	if len(parts) < threshold {
		return nil, &NoKeyError{Recipients: m.recipients(), Keys: len(d.age) + len(d.pgp)}
	}
	key := parts[0]
	if len(m.groups) > 1 {
		var ok bool
		if key, ok = combine(parts); !ok {
			return nil, &DamagedError{Reason: "the parts of its data key cannot be combined"}
		}
	}
	if len(key) != dataKeySize {
		return nil, &DamagedError{Reason: "its data key is not valid"}
	}
	return key, nil
}

// part decrypts the part of the data key that a group encrypts, with the first key that works. It
// tries only keys whose recipients the file names, and stops after a few failures, so that a file
// cannot cause much work.
func (d *Decrypter) part(g group, failed *int) ([]byte, bool) {
	for _, try := range d.fitting(g) {
		if *failed >= maxFailed {
			return nil, false
		}
		if part, ok := try(); ok {
			return part, true
		}
		*failed++
	}
	return nil, false
}

// fitting returns the attempts to decrypt master keys of a group with the configured keys that they
// name.
func (d *Decrypter) fitting(g group) []func() ([]byte, bool) {
	var attempts []func() ([]byte, bool)
	for _, key := range g.Age {
		if identity, known := d.age[strings.TrimSpace(key.Recipient)]; known {
			attempts = append(attempts, func() ([]byte, bool) { return decryptAge(identity, key.Encrypted) })
		}
	}
	for _, key := range g.PGP {
		for _, own := range d.pgp {
			if own.isCalled(key.Fingerprint) {
				attempts = append(attempts, func() ([]byte, bool) { return own.decrypt(key.Encrypted) })
			}
		}
	}
	return attempts
}

func decryptAge(identity age.Identity, message string) ([]byte, bool) {
	opened, err := age.Decrypt(agearmor.NewReader(strings.NewReader(message)), identity)
	if err != nil {
		return nil, false
	}
	return read(opened)
}

func (k pgpKey) isCalled(fingerprint string) bool {
	fingerprint = strings.ToLower(strings.ReplaceAll(fingerprint, " ", ""))
	fingerprint = strings.TrimPrefix(fingerprint, "0x")
	if len(fingerprint) < shortestFingerprint {
		return false
	}
	return slices.ContainsFunc(k.fingerprints, func(own string) bool { return strings.HasSuffix(own, fingerprint) })
}

// decrypt reads an OpenPGP message. It does not prompt for a passphrase.
func (k pgpKey) decrypt(message string) ([]byte, bool) {
	block, err := pgparmor.Decode(strings.NewReader(message))
	if err != nil {
		return nil, false
	}
	opened, err := openpgp.ReadMessage(block.Body, openpgp.EntityList{k.entity}, nil, nil)
	if err != nil || !opened.IsEncrypted {
		return nil, false
	}
	return read(opened.UnverifiedBody)
}

// read reads a data key, or a part of one, which is a byte longer. It reads to the end, because the
// integrity of a message is verified there.
func read(from io.Reader) ([]byte, bool) {
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(from, dataKeySize+2))
	return content.Bytes(), err == nil && (n == dataKeySize || n == dataKeySize+1)
}
