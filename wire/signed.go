package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/awp-suite/awp"
)

// sigMember holds the signature in a signed object. It is the one member not signed.
const sigMember = "sig"

// SignObject signs a JSON object, a grant or a presence document (section 6), and returns
// it in canonical form with its sig. A sig that it had before is replaced. The result is
// at most [MaxSigned] bytes long.
func (id Identity) SignObject(raw []byte) ([]byte, error) {
	text, err := CanonicalWithout(raw, sigMember)
	if err != nil {
		return nil, fmt.Errorf("sign object: %w", err)
	}
	signed := []byte(`{"` + sigMember + `":"` + id.sign(text) + `"`)
	if string(text) != "{}" {
		signed = append(signed, ',')
	}
	signed = append(signed, text[1:]...)
	if len(signed) > MaxSigned {
		return nil, fmt.Errorf("sign object: %d bytes, at most %d", len(signed), MaxSigned)
	}
	return Canonical(signed) // puts sig in its place
}

// VerifySigned checks that signer signed the JSON object raw (section 6): its member sig,
// over the canonical form of all its other members, known or not. Who had to sign it and
// whether it is still of use is the caller's to ask. Nobody's key is refused, and so is
// text over [MaxSigned] bytes.
func VerifySigned(raw []byte, signer awp.Key) error {
	if len(raw) > MaxSigned {
		return fmt.Errorf("verify object: %d bytes, at most %d", len(raw), MaxSigned)
	}
	text, err := CanonicalWithout(raw, sigMember)
	if err != nil {
		return fmt.Errorf("verify object: %w", err)
	}
	var signed struct {
		Sig string `json:"sig"`
	}
	if err := json.Unmarshal(raw, &signed); err != nil {
		return fmt.Errorf("verify object: %w", err)
	}
	if !verify(signer, text, signed.Sig) {
		return errors.New("verify object: bad signature")
	}
	return nil
}

// GrantHash names a grant: the first 16 bytes of the SHA-256 of its canonical form, sig
// included, in hex (section 6).
func GrantHash(raw []byte) (string, error) {
	text, err := Canonical(raw)
	if err != nil {
		return "", fmt.Errorf("hash grant: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
