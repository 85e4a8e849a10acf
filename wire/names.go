package wire

import (
	"encoding/base64"
	"io"

	"github.com/awp-suite/awp"
)

// threadAlphabet has 32 characters, none of which is easily read as another.
const threadAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"

// NewThreadID returns a thread id of our make, "thr_" and 8 random characters (section
// 4). With 40 random bits two of a pair's threads may collide, so the caller looks for
// the id among those it has. A nil entropy is crypto/rand; it panics if entropy fails.
func NewThreadID(entropy io.Reader) awp.ThreadID {
	var b [8]byte
	fill(entropy, b[:])
	for i := range b {
		b[i] = threadAlphabet[b[i]%32] // 32 divides 256: no character is likelier
	}
	return awp.ThreadID("thr_" + string(b[:]))
}

// NewBlobRef returns a reference for a file we send, "b_" and a fresh id (section 4).
func NewBlobRef(ids *IDs) string { return "b_" + string(ids.Next()) }

// NewNonce returns a hello's nonce, [NonceSize] random bytes in base64url. A nil entropy
// is crypto/rand; it panics if entropy fails.
func NewNonce(entropy io.Reader) string {
	var b [NonceSize]byte
	fill(entropy, b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// NewGrantNonce returns a grant's nonce, [GrantNonceSize] random bytes in base64url, under
// the conditions of [NewNonce].
func NewGrantNonce(entropy io.Reader) string {
	var b [GrantNonceSize]byte
	fill(entropy, b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
