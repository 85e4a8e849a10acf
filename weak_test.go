package awp

import (
	"crypto/ed25519"
	"encoding/hex"
	"testing"
)

// Points of small order are nobody's key, in any of their encodings.
func TestWeakKeys(t *testing.T) {
	n := 0
	for _, y := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		raw, err := hex.DecodeString(y)
		if err != nil {
			t.Fatal(err)
		}
		for _, sign := range []byte{0, 0x80} {
			k := Key(raw)
			k[31] |= sign
			n++
			for _, spelled := range []string{k.String(), k.String() + "="} {
				if got, err := ParseKey(spelled); err == nil || got != (Key{}) {
					t.Errorf("%x is taken as a key", k[:])
				}
			}
			if err := new(Key).UnmarshalText([]byte(k.String())); err == nil {
				t.Errorf("%x is taken as a key from text", k[:])
			}
		}
	}
	if n != 2*len(weakY) {
		t.Errorf("%d encodings tested, %d refused", n, 2*len(weakY))
	}
}

// What the list is for: a signature that needed no secret verifies.
func TestWeakKeyNeedsNoSecret(t *testing.T) {
	one := Key{0: 1}
	sig := make([]byte, ed25519.SignatureSize)
	sig[0] = 1 // R is the neutral point, S is 0
	if !ed25519.Verify(one[:], []byte("anything"), sig) {
		t.Skip("the library refuses it itself")
	}
	if !one.weak() {
		t.Error("a key that anybody can sign for is taken")
	}
}

func TestHonestKeysAreNotWeak(t *testing.T) {
	for i := range 100 {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(i)
		k := Key(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
		if got, err := ParseKey(k.String()); err != nil || got != k {
			t.Errorf("%s: %v", k, err)
		}
	}
}
