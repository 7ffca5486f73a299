// Package sopstest encrypts files for tests, as SOPS does. sops 3.13.3 decrypts what it writes. The
// fixtures of package sops test that it decrypts what SOPS writes.
package sopstest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"go.yaml.in/yaml/v3"
)

// Modified is the time of encryption in the metadata of all files.
const Modified = "2026-01-02T03:04:05Z"

// Age makes an age key: the identity, and the recipient that files are encrypted for.
func Age(tb testing.TB) (identity, recipient string) {
	tb.Helper()
	made, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	return made.String(), made.Recipient().String()
}

// PGP makes an OpenPGP key: the armored private key, and the entity that files are encrypted for.
func PGP(tb testing.TB) (private string, public *openpgp.Entity) {
	tb.Helper()
	made, err := openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		tb.Fatal(err)
	}
	var armored bytes.Buffer
	w, err := pgparmor.Encode(&armored, openpgp.PrivateKeyType, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(made.SerializePrivate(w, nil), w.Close()); err != nil {
		tb.Fatal(err)
	}
	return armored.String(), made
}

// File describes how a file is encrypted.
type File struct {
	// Age and PGP are the recipients that the file is encrypted for.
	Age []string
	PGP []*openpgp.Entity
	// EncryptedRegex is the rule about keys, "" for the default rule of SOPS.
	EncryptedRegex string
	// Metadata is written in addition to that of SOPS.
	Metadata map[string]any
}

// Encrypt encrypts the documents of a YAML file.
func (f File) Encrypt(tb testing.TB, plain string) string {
	tb.Helper()
	encrypted, err := f.encrypt(plain)
	if err != nil {
		tb.Fatalf("encrypting a file: %v", err)
	}
	return encrypted
}

func (f File) encrypt(plain string) (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	w := walker{block: block, mac: sha512.New()}
	if f.EncryptedRegex != "" {
		if w.rule, err = regexp.Compile(f.EncryptedRegex); err != nil {
			return "", err
		}
	}
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(plain))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if err := w.node(document.Content[0], nil); err != nil {
			return "", err
		}
		documents = append(documents, &document)
	}
	mac, err := w.seal(fmt.Sprintf("%X", w.mac.Sum(nil)), Modified, "str")
	if err != nil {
		return "", err
	}
	metadata, err := f.metadata(key, mac)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for _, document := range documents {
		var name, written yaml.Node
		name.SetString("sops")
		if err := written.Encode(metadata); err != nil {
			return "", err
		}
		document.Content[0].Content = append(document.Content[0].Content, &name, &written)
		if err := encoder.Encode(document); err != nil {
			return "", err
		}
	}
	return out.String(), encoder.Close()
}

func (f File) metadata(key []byte, mac string) (map[string]any, error) {
	made := map[string]any{"lastmodified": Modified, "mac": mac, "version": "3.13.3"}
	if f.EncryptedRegex != "" {
		made["encrypted_regex"] = f.EncryptedRegex
	} else {
		made["unencrypted_suffix"] = "_unencrypted"
	}
	var forAge, forPGP []map[string]string
	for _, recipient := range f.Age {
		sealed, err := SealAge(key, recipient)
		if err != nil {
			return nil, err
		}
		forAge = append(forAge, map[string]string{"recipient": recipient, "enc": sealed})
	}
	for _, entity := range f.PGP {
		sealed, err := sealPGP(key, entity)
		if err != nil {
			return nil, err
		}
		forPGP = append(forPGP, map[string]string{"fp": fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint), "enc": sealed, "created_at": Modified})
	}
	made["age"], made["pgp"] = forAge, forPGP
	maps.Copy(made, f.Metadata)
	return made, nil
}

// SealAge encrypts a data key for an age recipient.
func SealAge(key []byte, recipient string) (string, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	armored := agearmor.NewWriter(&out)
	w, err := age.Encrypt(armored, to)
	if err != nil {
		return "", err
	}
	_, err = w.Write(key)
	err = errors.Join(err, w.Close(), armored.Close())
	return out.String(), err
}

func sealPGP(key []byte, to *openpgp.Entity) (string, error) {
	var out bytes.Buffer
	armored, err := pgparmor.Encode(&out, "PGP MESSAGE", nil)
	if err != nil {
		return "", err
	}
	w, err := openpgp.Encrypt(armored, []*openpgp.Entity{to}, nil, nil, nil)
	if err != nil {
		return "", err
	}
	_, err = w.Write(key)
	err = errors.Join(err, w.Close(), armored.Close())
	return out.String(), err
}

// walker encrypts values.
type walker struct {
	block cipher.Block
	mac   hash.Hash
	rule  *regexp.Regexp
}

// node encrypts the values below a node.
func (w walker) node(node *yaml.Node, path []string) error {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if err := w.node(node.Content[i+1], append(slices.Clip(path), node.Content[i].Value)); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if err := w.node(item, path); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		return w.scalar(node, path)
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return nil
}

func (w walker) scalar(node *yaml.Node, path []string) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return err
	}
	var text, kind string
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		text, kind = value, "str"
	case int:
		text, kind = strconv.Itoa(value), "int"
	case float64:
		text, kind = strconv.FormatFloat(value, 'f', -1, 64), "float"
	case bool:
		text, kind = map[bool]string{true: "True", false: "False"}[value], "bool"
	default:
		return fmt.Errorf("a %T is not encrypted here", value)
	}
	w.mac.Write([]byte(text))
	if text == "" || w.rule != nil && !slices.ContainsFunc(path, w.rule.MatchString) ||
		w.rule == nil && slices.ContainsFunc(path, func(key string) bool { return strings.HasSuffix(key, "_unencrypted") }) {
		return nil
	}
	sealed, err := w.seal(text, strings.Join(path, ":")+":", kind)
	node.SetString(sealed)
	return err
}

// seal encrypts one value, bound to its place.
func (w walker) seal(text, place, kind string) (string, error) {
	nonce := make([]byte, 32)
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCMWithNonceSize(w.block, len(nonce))
	if err != nil {
		return "", err
	}
	sealed := gcm.Seal(nil, nonce, []byte(text), []byte(place))
	split := len(sealed) - gcm.Overhead()
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("ENC[AES256_GCM,data:%s,iv:%s,tag:%s,type:%s]", encode(sealed[:split]), encode(nonce), encode(sealed[split:]), kind), nil
}
