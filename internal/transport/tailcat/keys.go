package tailcat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/atomicfile"
	"github.com/tailscale/tailcat"
	"tailscale.com/tailcfg"
	"tailscale.com/types/key"
)

// FileName is the file in the home that makes its address last.
const FileName = "tailcat.json"

// maxFile bounds it, in bytes. A region of the public map takes about one thousand.
const maxFile = 64 << 10

// keys is what the file holds. Key, PresharedKey and Region make the address; lose or
// change one and every peer's copy of the address is dead.
type keys struct {
	Key          key.NodePrivate      `json:"key"`
	PresharedKey tailcat.PresharedKey `json:"preshared_key"`
	// DialKey is what the keys that we dial with are made from: see clientKey.
	DialKey key.NodePrivate `json:"dial_key"`
	// Region is our relay, once it was chosen. From says by what, so that other
	// settings choose again: fromSettings, the URL of a map, or "" for the public map.
	Region *tailcfg.DERPRegion `json:"region,omitzero"`
	From   string              `json:"region_from,omitzero"`
}

func newKeys() *keys {
	return &keys{Key: key.NewNode(), PresharedKey: tailcat.NewPresharedKey(), DialKey: key.NewNode()}
}

// loadKeys reads the file, or makes new keys where there is none. A file that cannot be
// read is never replaced: a new address would cut this home off from all its peers.
func loadKeys(path string) (*keys, error) {
	data, err := readKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		k := newKeys()
		return k, k.save(path)
	}
	if err != nil {
		return nil, &awp.Error{Code: awp.Invalid, Message: FileName + " cannot be read: " + pathless(err), Hint: "make " + path + " a file that you can read", Cause: err}
	}
	k := new(keys)
	if err := json.Unmarshal(data, k); err != nil {
		return nil, damaged(path, where(err))
	}
	switch {
	case k.Key.IsZero():
		return nil, damaged(path, `"key" is missing`)
	case k.PresharedKey.IsZero():
		return nil, damaged(path, `"preshared_key" is missing`)
	case k.DialKey.IsZero():
		return nil, damaged(path, `"dial_key" is missing`)
	case k.Region != nil && (k.Region.RegionID == 0 || len(k.Region.Nodes) == 0):
		return nil, damaged(path, `"region" names no relay`)
	}
	return k, nil
}

// damaged is the sentence for a file that holds no keys. It never shows what is in there.
func damaged(path, what string) error {
	return &awp.Error{
		Code:    awp.Invalid,
		Message: FileName + " is damaged: " + what,
		Hint:    "restore " + path + " from a copy; or move it away, and this agent gets a new address that its peers must be told",
	}
}

// where says in which member a file is off. The decoder's own words would quote it.
func where(err error) string {
	if sem, ok := errors.AsType[*json.SemanticError](err); ok && sem.JSONPointer != "" {
		return fmt.Sprintf("%q is not valid", sem.JSONPointer.LastToken())
	}
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("not valid JSON at byte %d", syn.ByteOffset)
	}
	return "not valid"
}

func readKeys(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil { // whoever reads it can be us
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return data, err
}

// save writes the file so that a crash at any moment leaves the old one or the new one.
func (k *keys) save(path string) (err error) {
	data, err := json.Marshal(k, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", FileName, err)
	}
	defer func() {
		if err != nil {
			err = &awp.Error{Code: awp.Internal, Message: FileName + " cannot be written: " + pathless(err), Hint: "make room in " + filepath.Dir(path) + ", or make it writable", Cause: err}
		}
	}()
	return atomicfile.Write(path, append(data, '\n'))
}

// pathless is err without the path, which the sentence has already.
func pathless(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err.Error()
	}
	return err.Error()
}

// clientKey is the key to dial one server with: always the same one, because a server
// never forgets a key that called, and another one for every server, because a relay
// that two connections with one key reach at once answers only the one that wrote last.
func (k *keys) clientKey(label string, server key.NodePublic) key.NodePrivate {
	var raw [32]byte
	text, err := k.DialKey.MarshalText()
	if err == nil {
		mac := hmac.New(sha256.New, text)
		mac.Write([]byte("awp tailcat " + label + " v1\x00"))
		mac.Write(server.AppendTo(nil))
		mac.Sum(raw[:0])
		raw[0] &= 248 // as Curve25519 wants a scalar
		raw[31] = raw[31]&127 | 64
		var made key.NodePrivate
		if err = made.UnmarshalText([]byte("privkey:" + hex.EncodeToString(raw[:]))); err == nil {
			return made
		}
	}
	panic("tailcat: make a client key: " + err.Error()) // neither text depends on anything
}
