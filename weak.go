package awp

import "errors"

// weakY are the y coordinates of the eight points of small order on Ed25519's curve, little
// endian, with the two that are spelled twice below 2^255. With either sign bit they are
// fourteen keys. Whoever names one as its own needs no secret: for such a key anybody can
// make signatures that verify for many, or all, messages.
var weakY = map[Key]bool{
	{}:                      true, // order 4
	{0: 1}:                  true, // order 1
	spell(0xec, 0xff, 0x7f): true, // p-1, order 2
	spell(0xed, 0xff, 0x7f): true, // p, which is 0
	spell(0xee, 0xff, 0x7f): true, // p+1, which is 1
	{
		0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
	}: true, // order 8
	{
		0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
	}: true, // order 8
}

// spell returns a key of one first byte, thirty equal ones, and a last.
func spell(first, middle, last byte) (k Key) {
	for i := range k {
		k[i] = middle
	}
	k[0], k[31] = first, last
	return k
}

// weak reports whether k is a point of small order, however it is encoded.
func (k Key) weak() bool {
	k[31] &^= 0x80 // the sign of x
	return weakY[k]
}

// checked returns k, or an error for a weak key.
func (k Key) checked() (Key, error) {
	if k.weak() {
		return Key{}, errors.New("parse key: a point of small order, which proves nothing")
	}
	return k, nil
}
