package wire

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"

	"github.com/awp-suite/awp"
)

// SeedSize is the length of an identity's seed in bytes.
const SeedSize = ed25519.SeedSize

// Identity is an agent's key with its private half. Printed with any verb it shows the
// public key only. The zero Identity can sign nothing; its methods panic.
type Identity struct {
	Key     awp.Key
	private ed25519.PrivateKey
}

// NewIdentity makes an identity from fresh randomness; a nil entropy is crypto/rand.
func NewIdentity(entropy io.Reader) (Identity, error) {
	seed := make([]byte, SeedSize)
	if _, err := io.ReadFull(orRand(entropy), seed); err != nil {
		return Identity{}, fmt.Errorf("make identity: %w", err)
	}
	return IdentityFromSeed(seed)
}

// IdentityFromSeed returns the identity that seed, of [SeedSize] bytes, determines.
func IdentityFromSeed(seed []byte) (Identity, error) {
	if len(seed) != SeedSize {
		return Identity{}, fmt.Errorf("make identity: seed of %d bytes, want %d", len(seed), SeedSize)
	}
	id := Identity{private: ed25519.NewKeyFromSeed(seed)}
	copy(id.Key[:], id.private.Public().(ed25519.PublicKey))
	return id, nil
}

// Seed returns a copy of the secret that the identity is made of.
func (id Identity) Seed() []byte { return id.private.Seed() }

// Format writes the public key, so that no log or test output shows the private one.
func (id Identity) Format(f fmt.State, _ rune) { io.WriteString(f, id.Key.String()) }

// identityFile is identity.json (section 5).
type identityFile struct {
	Key  string `json:"key"`
	Seed string `json:"seed"`
}

// ParseIdentity reads the contents of an identity.json (section 5). A key that is not the
// seed's is an error: one of the two was damaged, and to go on with either might mean to
// be somebody else from now on. No error quotes the seed.
func ParseIdentity(text []byte) (Identity, error) {
	var f identityFile
	if err := json.Unmarshal(text, &f); err != nil {
		// The cause may quote the file.
		return Identity{}, errors.New("parse identity: not the JSON of an identity")
	}
	seed, err := awp.DecodeBase64(f.Seed)
	if err != nil {
		return Identity{}, errors.New("parse identity: seed is not base64")
	}
	id, err := IdentityFromSeed(seed)
	if err != nil {
		return Identity{}, fmt.Errorf("parse identity: %w", err)
	}
	key, err := awp.ParseKey(f.Key)
	if err != nil {
		return Identity{}, fmt.Errorf("parse identity: %w", err)
	}
	if key != id.Key {
		return Identity{}, errors.New("parse identity: the key is not the seed's")
	}
	return id, nil
}

// MarshalFile writes the contents of an identity.json, secret and all, with a newline at
// the end.
func (id Identity) MarshalFile() []byte {
	return fmt.Appendf(nil, "{\"key\":%q,\"seed\":%q}\n",
		id.Key.String(), base64.RawURLEncoding.EncodeToString(id.Seed()))
}
