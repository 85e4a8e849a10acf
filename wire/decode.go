package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// ParseEnvelope reads what every line begins with, wherever in the line it stands. All of
// line must be one JSON object: valid UTF-8, no name twice in any object, nesting at most
// [MaxDepth], nothing behind it. Member t must be a non-empty string; the others of the
// envelope may be missing or null, but not of another kind or, but for ts, longer than
// [MaxID]. The error is a *[LineError]
// with code [BadFrame]. The result does not refer to line.
func ParseEnvelope(line []byte) (Envelope, error) {
	var e Envelope
	if err := unmarshal(line, &e); err != nil {
		return Envelope{}, err
	}
	if e.T == "" {
		return Envelope{}, refuse(BadFrame, "parse line: no t")
	}
	if fault := e.overlong(); fault != "" {
		return Envelope{}, refuse(BadFrame, "parse line: "+fault)
	}
	return e, nil
}

// GuessType returns the type of a line that begins as ours do, with t, and else nothing.
// It looks at no more than that. Where it names a type, [Decode] of that type judges the
// line as well as after [ParseEnvelope], in half the time.
func GuessType(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte(`{"t":"`))
	if !ok {
		return ""
	}
	for i, b := range rest[:min(len(rest), 16)] {
		switch {
		case b == '"':
			return string(rest[:i])
		case b < 'a' || b > 'z':
			return ""
		}
	}
	return ""
}

// Decode reads line as a T, one of the line types. It asks of line what [ParseEnvelope]
// does, and further that t is T's, that known members are of the right kind, and that
// none of those is missing that section 10 calls for: id and th of msg and private, with
// state of state, with of of mirror; id and ref of chunk. Other members may be missing,
// unknown ones are ignored. The error is a *[LineError] with code [BadFrame], or
// [BadVersion] for a hello of another version that does not decode as ours; a hello of
// another version that does decode is for the caller to refuse. The result does not refer
// to line.
func Decode[T any](line []byte) (T, error) {
	var v, zero T
	if _, ok := any(v).(Msg); ok && tooManyParts(line) {
		return zero, refuse(BadFrame, fmt.Sprintf("parse msg: more than %d parts", MaxParts))
	}
	if err := unmarshal(line, &v); err != nil {
		if _, ok := any(v).(Hello); ok && foreignHello(line) {
			return zero, refuse(BadVersion, "parse hello: version not spoken")
		}
		return zero, err
	}
	if err := check(v); err != nil {
		return zero, refuse(BadFrame, "parse "+err.Error())
	}
	return v, nil
}

// tooManyParts reports whether a message has more than [MaxParts] parts, without decoding
// one. Of text that is no message it says nothing that matters.
func tooManyParts(line []byte) bool {
	if len(line) <= 2*MaxParts { // not that many fit
		return false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(line))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		if name.String() != "parts" || d.PeekKind() != '[' {
			if d.SkipValue() != nil {
				return false
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		for n := 0; d.PeekKind() != ']'; n++ {
			if n == MaxParts {
				return true
			}
			if d.SkipValue() != nil {
				return false
			}
		}
		return false
	}
	return false
}

// foreignHello reports whether line names another version than ours. What else stands in
// such a hello is not ours to judge.
func foreignHello(line []byte) bool {
	var h struct {
		V int `json:"v"`
	}
	return unmarshal(line, &h) == nil && h.V != Version
}

// check asks of a line type that it is filled in. Other types pass.
func check(v any) error {
	l, ok := v.(typed)
	if !ok {
		return nil
	}
	if t := l.envelope().T; t != l.lineType() {
		return fmt.Errorf("%s: t is %q", l.lineType(), t)
	}
	for _, fault := range []string{l.envelope().overlong(), l.fault()} {
		if fault != "" {
			return fmt.Errorf("%s: %s", l.lineType(), fault)
		}
	}
	return nil
}

// unmarshal reads an object. Names twice and bad UTF-8 are refused by encoding/json/v2.
func unmarshal(line []byte, v any) error {
	if jsontext.Value(line).Kind() != '{' {
		return refuse(BadFrame, "parse line: not a JSON object")
	}
	if tooDeep(line) {
		return refuse(BadFrame, "parse line: nested too deep")
	}
	if err := json.Unmarshal(line, v); err != nil {
		return refuse(BadFrame, "parse line: "+err.Error())
	}
	return nil
}

// tooDeep reports whether valid JSON text nests deeper than MaxDepth. Of other text it
// says nothing that matters.
func tooDeep(text []byte) bool {
	// Most lines have too few brackets to nest that deep, and counting is much faster
	// than looking.
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= MaxDepth {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
