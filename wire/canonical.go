package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Canonical rewrites a JSON value in the one form that signatures are made over (section
// 6): no white space, object members in the byte order of their names, strings with as
// few escapes as JSON allows, numbers with the text they came with. Canonical text is its
// own canonical form. Names twice, bad UTF-8, nesting beyond [MaxDepth] and text behind
// the value are errors. Time and memory grow with size times depth, so the caller bounds
// the size of what strangers sent; [VerifySigned] does.
func Canonical(raw []byte) ([]byte, error) { return canonical(raw, nil) }

// CanonicalWithout is [Canonical] of an object without one of its members, which need not
// be there. Inside the other members nothing is left out.
func CanonicalWithout(raw []byte, member string) ([]byte, error) {
	if jsontext.Value(raw).Kind() != '{' {
		return nil, errors.New("canonicalize JSON: not an object")
	}
	return canonical(raw, &member)
}

func canonical(raw []byte, without *string) ([]byte, error) {
	if tooDeep(raw) {
		return nil, fmt.Errorf("canonicalize JSON: nested deeper than %d", MaxDepth)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	text, err := appendCanonical(make([]byte, 0, len(raw)), dec, without)
	if err == nil {
		err = atEnd(dec)
	}
	if err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	return text, nil
}

func atEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more than one value")
	default:
		return err
	}
}

// appendCanonical appends the next value that dec reads. The decoder's own sorting is of
// no use: RFC 8785 orders names by UTF-16 units, the protocol by bytes.
func appendCanonical(dst []byte, dec *jsontext.Decoder, without *string) ([]byte, error) {
	switch dec.PeekKind() {
	case '{':
		return appendObject(dst, dec, without)
	case '[':
		return appendArray(dst, dec)
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		return jsontext.AppendQuote(dst, tok.String())
	}
	val, err := dec.ReadValue() // a number or a literal, or the error that PeekKind met
	return append(dst, val...), err
}

// appendObject appends the members as they come and puts them in order afterwards, so
// that text in deep but orderly nesting is not copied once a level.
func appendObject(dst []byte, dec *jsontext.Decoder, without *string) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	type member struct {
		name     string
		from, to int // its text in dst, from its name to the comma behind it
	}
	var members []member
	dst = append(dst, '{')
	start := len(dst)
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: tok.String(), from: len(dst)}
		dst, _ = jsontext.AppendQuote(dst, m.name) // the decoder saw to its UTF-8
		dst = append(dst, ':')
		if dst, err = appendCanonical(dst, dec, nil); err != nil {
			return nil, err
		}
		if without != nil && m.name == *without {
			dst = dst[:m.from]
			continue
		}
		dst = append(dst, ',')
		m.to = len(dst)
		members = append(members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	byName := func(a, b member) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortFunc(members, byName)
		unsorted := slices.Clone(dst[start:])
		dst = dst[:start]
		for _, m := range members {
			dst = append(dst, unsorted[m.from-start:m.to-start]...)
		}
	}
	return append(bytes.TrimSuffix(dst, []byte{','}), '}'), nil
}

func appendArray(dst []byte, dec *jsontext.Decoder) ([]byte, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	for first := true; dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendCanonical(dst, dec, nil); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(dst, ']'), err
}
