package grant

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Capabilities. Any other word may stand in a grant; none has a meaning here.
const (
	Exec      = "exec"
	ReadFile  = "fs:read"
	WriteFile = "fs:write"
	Introduce = "introduce" // bring others, see Book.Allows
	Admin     = "admin"     // reserved: nothing asks for it yet
)

// Capabilities returns those that have a meaning.
func Capabilities() []string { return []string{Exec, ReadFile, WriteFile, Introduce, Admin} }

// Bounds of a grant, ours: capabilities in it, and bytes of one.
const (
	maxCaps = 64
	maxCap  = 64
)

// Grant is a statement, signed by Issuer, that Subject may do what Caps says until
// Expires.
type Grant struct {
	Issuer   awp.Key
	Subject  awp.Key
	Audience awp.Key // who alone is to honor it; zero: whoever trusts the issuer
	Caps     []string
	Expires  time.Time
	Hash     string         // names it, see Decode
	Raw      jsontext.Value // as it was signed, byte for byte
}

// object is a grant as it is spelled. Unknown members stay in Raw, and signed.
type object struct {
	Iss   string   `json:"iss"`
	Sub   string   `json:"sub"`
	Caps  []string `json:"caps"`
	Exp   string   `json:"exp"`
	Nonce string   `json:"nonce"`
	Sig   string   `json:"sig,omitzero"`
	Aud   string   `json:"aud,omitzero"`
}

// Decode reads a grant and checks its signature, and not whether it has expired. At most
// [wire.MaxGrant] bytes are looked at. The result does not refer to raw.
//
// The hash is section 6's, of the grant with its signature spelled the way we spell it: a
// holder that spells it otherwise has no other grant by that, and cannot get around the
// revocation of the one it has.
func Decode(raw []byte) (Grant, error) {
	if len(raw) > wire.MaxGrant {
		return Grant{}, fmt.Errorf("decode grant: %d bytes, at most %d", len(raw), wire.MaxGrant)
	}
	var o object
	if jsontext.Value(raw).Kind() != '{' {
		return Grant{}, errors.New("decode grant: not an object")
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return Grant{}, fmt.Errorf("decode grant: %w", err)
	}
	g, err := o.read()
	if err != nil {
		return Grant{}, fmt.Errorf("decode grant: %w", err)
	}
	if err := wire.VerifySigned(raw, g.Issuer); err != nil {
		return Grant{}, fmt.Errorf("decode grant: %w", err)
	}
	if g.Hash, err = hash(raw, o.Sig); err != nil {
		return Grant{}, fmt.Errorf("decode grant: %w", err)
	}
	g.Raw = slices.Clone(raw)
	return g, nil
}

func (o object) read() (g Grant, err error) {
	if g.Issuer, err = awp.ParseKey(o.Iss); err != nil {
		return g, fmt.Errorf("iss: %w", err)
	}
	if g.Subject, err = awp.ParseKey(o.Sub); err != nil {
		return g, fmt.Errorf("sub: %w", err)
	}
	if o.Aud != "" {
		if g.Audience, err = awp.ParseKey(o.Aud); err != nil {
			return g, fmt.Errorf("aud: %w", err)
		}
		if g.Audience.IsZero() {
			return g, errors.New("aud: nobody's key") // zero means none here
		}
	}
	if g.Subject.IsZero() {
		return g, errors.New("sub: nobody's key")
	}
	if g.Expires, err = time.Parse(time.RFC3339, o.Exp); err != nil {
		return g, errors.New("exp: not a time")
	}
	if len(o.Caps) > maxCaps {
		return g, fmt.Errorf("caps: %d, at most %d", len(o.Caps), maxCaps)
	}
	for _, c := range o.Caps {
		if c == "" || len(c) > maxCap {
			return g, fmt.Errorf("caps: a word of %d bytes", len(c))
		}
	}
	g.Caps = sorted(o.Caps)
	return g, nil
}

// hash is [wire.GrantHash] of raw with its sig in our spelling. The signature is good, so
// it is base64.
func hash(raw []byte, sig string) (string, error) {
	bytes, err := awp.DecodeBase64(sig)
	if err != nil {
		return "", err
	}
	text, err := wire.CanonicalWithout(raw, "sig")
	if err != nil {
		return "", err
	}
	signed := `{"sig":"` + base64.RawURLEncoding.EncodeToString(bytes) + `",` + string(text[1:])
	return wire.GrantHash([]byte(signed))
}

// sorted returns the words in order, each once. There may be none; the list is not nil.
func sorted(words []string) []string {
	list := append([]string{}, words...)
	slices.Sort(list)
	return slices.Compact(list)
}

// Valid reports whether the grant has not expired.
func (g Grant) Valid(now time.Time) bool { return now.Before(g.Expires) }

// For reports whether me is to honor the grant, as far as its audience goes.
func (g Grant) For(me awp.Key) bool { return g.Audience.IsZero() || g.Audience == me }

// Terms are what a new grant says.
type Terms struct {
	Subject  awp.Key
	Audience awp.Key // zero: none
	Caps     []string
	Expires  time.Time // sent in whole seconds: a part of one is rounded up
}

// New makes a grant and signs it. Words that are no capability are taken as they are: the
// caller has judged them.
func New(issuer wire.Identity, t Terms) (Grant, error) {
	o := object{
		Iss: issuer.Key.String(), Sub: t.Subject.String(), Caps: sorted(t.Caps),
		Exp:   t.Expires.Add(time.Second - time.Nanosecond).UTC().Truncate(time.Second).Format(time.RFC3339),
		Nonce: wire.NewGrantNonce(nil),
	}
	if !t.Audience.IsZero() {
		o.Aud = t.Audience.String()
	}
	text, err := json.Marshal(o)
	if err != nil {
		return Grant{}, fmt.Errorf("make grant: %w", err)
	}
	if text, err = issuer.SignObject(text); err != nil {
		return Grant{}, fmt.Errorf("make grant: %w", err)
	}
	return Decode(text)
}

// request types, by the mime type of a data part (section 17).
var requests = map[string]string{
	"application/vnd.awp.exec+json":     Exec,
	"application/vnd.awp.fs-read+json":  ReadFile,
	"application/vnd.awp.fs-write+json": WriteFile,
	"application/vnd.awp.admin+json":    Admin,
}

// Request returns the capability that a part of a message asks to use, and its mime type
// as the profile spells it; empty: it asks for none (section 17).
func Request(p wire.Part) (capability, mime string) {
	if p.K != wire.PartData || len(p.Mime) > 200 || !utf8.ValidString(p.Mime) {
		return "", ""
	}
	mime = strings.ToLower(strings.TrimSpace(p.Mime))
	if capability = requests[mime]; capability == "" {
		return "", ""
	}
	return capability, mime
}
