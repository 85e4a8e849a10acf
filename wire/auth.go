package wire

import (
	"crypto/ed25519"
	"encoding/base64"

	"github.com/awp-suite/awp"
)

// AuthTranscript returns the text that the writer of the hello line mine signs to prove
// its key to the writer of theirs (section 7.2): context, mine, theirs, with a zero byte
// between them. Both lines are the exact bytes that crossed the link, without newline.
// No hello holds a zero byte (JSON allows none), so a transcript can be read in one way only.
func AuthTranscript(mine, theirs []byte) []byte {
	text := make([]byte, 0, len(AuthContext)+1+len(mine)+1+len(theirs))
	text = append(text, AuthContext...)
	text = append(text, 0)
	text = append(text, mine...)
	text = append(text, 0)
	return append(text, theirs...)
}

// SignAuth returns the sig of our auth line, for our hello line and the peer's.
func (id Identity) SignAuth(mine, theirs []byte) string {
	return id.sign(AuthTranscript(mine, theirs))
}

// VerifyAuth checks the sig of a peer's auth line: made by signer, the key in
// signersHello, over its hello line and then the other side's, ours. Nobody's key, the
// zero one, is refused. The error is a *[LineError] with code [AuthFailed].
//
// It does not notice a hello of our own that is played back to us: the transcript is
// the same from both ends then. Whoever calls it has refused our own key before.
func VerifyAuth(signer awp.Key, sig string, signersHello, othersHello []byte) error {
	if !verify(signer, AuthTranscript(signersHello, othersHello), sig) {
		return refuse(AuthFailed, "verify auth: bad signature")
	}
	return nil
}

func (id Identity) sign(text []byte) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(id.private, text))
}

func verify(signer awp.Key, text []byte, sig string) bool {
	raw, err := awp.DecodeBase64(sig)
	return err == nil && !signer.IsZero() && ed25519.Verify(signer[:], text, raw)
}
