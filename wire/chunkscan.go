package wire

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/awp-suite/awp"
)

// scanChunk reads a chunk line of the plain shape that peers write: no white space, no
// escapes, only a chunk's members, none of them twice, and data in padded standard
// base64. Any other line it leaves to the general decoder, which reads what scanChunk
// does read in the same way; FuzzDecodeChunk holds the two against each other.
func scanChunk(line []byte) (DecodedChunk, bool) {
	var c DecodedChunk
	var had uint
	s := scanner{rest: line}
	s.expect('{')
	for first := true; !s.failed && (first || !s.accept('}')); first = false {
		if !first {
			s.expect(',')
		}
		name := s.quoted()
		s.expect(':')
		var member uint
		switch string(name) {
		case "t":
			member, c.T = 1<<0, string(s.quoted())
		case "id":
			member, c.ID = 1<<1, awp.MessageID(s.quoted())
		case "ts":
			member, c.TS = 1<<2, string(s.quoted())
		case "th":
			member, c.Th = 1<<3, awp.ThreadID(s.quoted())
		case "ref":
			member, c.Ref = 1<<4, string(s.quoted())
		case "n":
			member, c.N = 1<<5, s.count()
		case "last":
			member, c.Last = 1<<6, s.bool()
		case "data":
			member, c.Data = 1<<7, s.base64()
		default:
			return DecodedChunk{}, false
		}
		if had&member != 0 {
			return DecodedChunk{}, false
		}
		had |= member
	}
	w := Chunk{Envelope: c.Envelope, Ref: c.Ref}
	if s.failed || len(s.rest) > 0 || check(w) != nil {
		return DecodedChunk{}, false
	}
	return c, true
}

// scanner eats plain JSON from the front of rest. After the first thing that is not as
// expected it has failed, and what it returns means nothing.
type scanner struct {
	rest   []byte
	failed bool
}

// accept eats b if it is next.
func (s *scanner) accept(b byte) bool {
	if len(s.rest) == 0 || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) expect(b byte) {
	if !s.accept(b) {
		s.failed = true
	}
}

// until eats what stands before the first b, and b.
func (s *scanner) until(b byte) []byte {
	i := bytes.IndexByte(s.rest, b)
	if i < 0 {
		s.failed = true
		return nil
	}
	text := s.rest[:i]
	s.rest = s.rest[i+1:]
	return text
}

// quoted eats a string of printable ASCII without escapes.
func (s *scanner) quoted() []byte {
	s.expect('"')
	text := s.until('"')
	for _, b := range text {
		if b < ' ' || b > '~' || b == '\\' {
			s.failed = true
		}
	}
	return text
}

// base64 eats a string of padded standard base64 and returns what it encodes.
func (s *scanner) base64() []byte {
	s.expect('"')
	text := s.until('"')
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(data, text)
	// The decoder skips line breaks, which a JSON string must not hold: then the lengths
	// do not agree.
	padding := len(text) - len(bytes.TrimRight(text, "="))
	if err != nil || len(text)%4 != 0 || n != len(text)/4*3-padding {
		s.failed = true
	}
	return data[:n]
}

// count eats a number of at most 18 digits, so that it fits, and of no other characters.
func (s *scanner) count() int64 {
	digits := 0
	for digits < len(s.rest) && '0' <= s.rest[digits] && s.rest[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(string(s.rest[:digits]), 10, 64)
	if err != nil || digits > 18 || digits > 1 && s.rest[0] == '0' {
		s.failed = true
	}
	s.rest = s.rest[digits:]
	return n
}

func (s *scanner) bool() bool {
	if rest, ok := bytes.CutPrefix(s.rest, []byte("true")); ok {
		s.rest = rest
		return true
	}
	rest, ok := bytes.CutPrefix(s.rest, []byte("false"))
	s.rest, s.failed = rest, s.failed || !ok
	return false
}
