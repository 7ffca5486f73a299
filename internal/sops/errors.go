package sops

import (
	"fmt"
	"strings"
	"unicode"
)

// NoKeyError reports that none of the keys decrypts a file.
type NoKeyError struct {
	// Recipients are the recipients that the file is encrypted for, according to its metadata.
	Recipients []string
	// Keys is the number of configured keys, of both kinds.
	Keys int
}

// Error names the recipients, and no key.
func (e *NoKeyError) Error() string {
	encrypted := "it is encrypted by sops"
	if len(e.Recipients) > 0 {
		encrypted += " for " + strings.Join(e.Recipients, ", ")
	}
	if e.Keys == 0 {
		return encrypted + ", and the provider's attribute sops has no keys; set age_keys or pgp_keys"
	}
	return encrypted + ", and no key in the provider's attribute sops decrypts it"
}

// UnknownKeysError reports that the keys are not known yet.
type UnknownKeysError struct{}

// Error names the attribute.
func (*UnknownKeysError) Error() string {
	return "it is encrypted by sops, and the keys in the provider's attribute sops are not known yet"
}

// DamagedError reports that a file differs from what SOPS has written.
type DamagedError struct {
	// Line is the line with the damage, 0 for the whole file.
	Line   int
	Reason string
}

// Error never quotes the file.
func (e *DamagedError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("its encryption by sops is damaged: line %d: %s", e.Line, e.Reason)
	}
	return "its encryption by sops is damaged: " + e.Reason
}

// TooLargeError reports that a file exceeds a limit of decryption.
type TooLargeError struct {
	// What describes the limit that the file exceeds.
	What string
}

// Error names the limit.
func (e *TooLargeError) Error() string { return "it is encrypted by sops and too large: " + e.What }

// KeyError reports that a key cannot be used.
type KeyError struct {
	// Kind is age or pgp. Index is the index of the key in its list.
	Kind   string
	Index  int
	Reason string
}

// Error never quotes the key.
func (e *KeyError) Error() string { return fmt.Sprintf("%s key %d: %s", e.Kind, e.Index+1, e.Reason) }

// longestName is the maximum length of a name from a file in an error.
const longestName = 100

// printable makes a name from a file safe to print in an error.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
	if runes := []rune(name); len(runes) > longestName {
		return string(runes[:longestName]) + "…"
	}
	return name
}
