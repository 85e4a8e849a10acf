package awp

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Release is the version of the suite. Programs of one home must be of one release.
const Release = "0.1.0"

// Protocol names the protocol that Release speaks between hosts (PROTOCOL.md section 0).
const Protocol = "v0"

// ThreadID names a thread. It is opaque and scoped to a pair of peers: the same id with
// two peers is two threads (PROTOCOL.md section 4).
type ThreadID string

// MessageID names a line. Ours are ULIDs that strictly increase in send order; a
// peer's are opaque and are compared as byte strings (PROTOCOL.md section 4).
type MessageID string

// KeyPrefix starts every spelled key.
const KeyPrefix = "ed25519:"

// Key is an Ed25519 public key: an agent's identity. Two spellings of the same 32 bytes
// are the same identity. The zero Key is nobody's.
type Key [32]byte

var keySpelling = base64.RawURLEncoding.Strict()

// ParseKey reads a key as people and peers spell it: the prefix "ed25519:" and 32
// bytes in base64, in either alphabet, padded or not (PROTOCOL.md section 5). A key for
// which signatures can be made without a secret is refused: see weak.
func ParseKey(s string) (Key, error) {
	var k Key
	body, ok := strings.CutPrefix(s, KeyPrefix)
	if !ok {
		return k, fmt.Errorf("parse key: no %q in front", KeyPrefix)
	}
	if len(body) == base64.RawURLEncoding.EncodedLen(len(k)) { // as we spell it, most likely
		if n, err := keySpelling.Decode(k[:], []byte(body)); err == nil && n == len(k) {
			return k.checked()
		}
		k = Key{}
	}
	raw, err := DecodeBase64(body)
	if err != nil {
		return k, fmt.Errorf("parse key: %w", err)
	}
	if len(raw) != len(k) {
		return k, fmt.Errorf("parse key: %d bytes, want %d", len(raw), len(k))
	}
	copy(k[:], raw)
	return k.checked()
}

// String returns the canonical spelling: prefix and unpadded base64url.
func (k Key) String() string { return KeyPrefix + k.body() }

// Short returns the first 10 characters of the key's base64url body, enough for a
// person to tell peers apart. It proves nothing.
func (k Key) Short() string { return k.body()[:10] }

// Fingerprint returns "SHA256:" and the unpadded standard base64 of the key's hash.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256(k[:])
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// IsZero reports whether k is nobody's key.
func (k Key) IsZero() bool { return k == Key{} }

// MarshalText spells k canonically; the zero key is the empty text.
func (k Key) MarshalText() ([]byte, error) {
	if k.IsZero() {
		return nil, nil
	}
	return []byte(k.String()), nil
}

// UnmarshalText is [ParseKey]; the empty text is the zero key.
func (k *Key) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*k = Key{}
		return nil
	}
	parsed, err := ParseKey(string(b))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

func (k Key) body() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

var toURLAlphabet = strings.NewReplacer("+", "-", "/", "_")

// DecodeBase64 reads base64 in either alphabet, padded or not, as PROTOCOL.md section 5
// asks for keys, nonces and signatures.
func DecodeBase64(s string) ([]byte, error) {
	s = toURLAlphabet.Replace(strings.TrimRight(s, "="))
	return keySpelling.DecodeString(s)
}

// Label returns what people see for a peer: its alias, else its name, else its short key.
func Label(alias, name string, key Key) string {
	switch {
	case alias != "":
		return alias
	case name != "":
		return name
	}
	return key.Short()
}
