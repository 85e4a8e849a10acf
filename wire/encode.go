package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
)

// Encode writes v, one of the line types or a pointer to one, as a line without its
// newline. Text is not escaped beyond what JSON demands, so a line stays readable, and
// equal values give equal bytes. Signed and mirrored text ([Presence], [Mirror], [Grant],
// [Introduce], [Auth]) is carried byte for byte unless it holds line breaks.
//
// A line over [MaxLine] or [MaxDepth] is a *[LineError] with code [TooLarge]. Any other
// error is the caller's mistake: t is not v's type, id or ts or a member that [Decode]
// asks for is empty, text is not UTF-8, a raw value is not JSON.
func Encode(v any) ([]byte, error) {
	if err := checkOurs(v); err != nil {
		return nil, fmt.Errorf("encode %w", err)
	}
	text, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode line: %w", err)
	}
	if len(text) > MaxLine {
		return nil, refuse(TooLarge, fmt.Sprintf("encode line: %d bytes, at most %d", len(text), MaxLine))
	}
	if tooDeep(text) {
		return nil, refuse(TooLarge, fmt.Sprintf("encode line: nested deeper than %d", MaxDepth))
	}
	return text, nil
}

// checkOurs is check, and asks for what a peer may leave out but we never do.
func checkOurs(v any) error {
	if err := check(v); err != nil {
		return err
	}
	if l, ok := v.(typed); ok {
		e := l.envelope()
		if fault := firstEmpty("id", string(e.ID), "ts", e.TS); fault != "" {
			return fmt.Errorf("%s: %s", l.lineType(), fault)
		}
	}
	return nil
}

// writing keeps raw strings as they are spelled and map members in order.
var writing = json.JoinOptions(jsontext.PreserveRawStrings(true), json.Deterministic(true))

func marshal(v any) ([]byte, error) {
	switch v.(type) {
	case Auth, *Auth, Grant, *Grant, Introduce, *Introduce, Presence, *Presence, Mirror, *Mirror:
		return marshalVerbatim(v)
	}
	return json.Marshal(v, writing)
}

// marshalVerbatim marshals v with its raw values unchanged. The encoder would reformat
// them, so it gets a null for each and the values are put in afterwards.
func marshalVerbatim(v any) ([]byte, error) {
	type hole struct {
		end int // offset behind its null
		raw jsontext.Value
	}
	var holes []hole
	leaveHole := json.MarshalToFunc(func(enc *jsontext.Encoder, raw jsontext.Value) error {
		raw, err := oneLine(raw)
		if err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.Null); err != nil {
			return err
		}
		holes = append(holes, hole{int(enc.OutputOffset()), raw})
		return nil
	})
	text, err := json.Marshal(v, writing, json.WithMarshalers(leaveHole))
	if err != nil {
		return nil, err
	}
	size := len(text)
	for _, h := range holes {
		size += len(h.raw)
	}
	out, from := make([]byte, 0, size), 0
	for _, h := range holes {
		out = append(out, text[from:h.end-len("null")]...)
		out = append(out, h.raw...)
		from = h.end
	}
	return append(out, text[from:]...), nil
}

// oneLine returns raw if it is a JSON value that can stand in a line, without the line
// breaks it may have between its tokens.
func oneLine(raw jsontext.Value) (jsontext.Value, error) {
	if raw == nil {
		return jsontext.Value("null"), nil
	}
	if !raw.IsValid() {
		return nil, fmt.Errorf("raw value is not JSON")
	}
	if bytes.ContainsAny(raw, "\n\r") {
		raw = raw.Clone()
		if err := raw.Compact(jsontext.PreserveRawStrings(true)); err != nil {
			return nil, err
		}
	}
	return raw, nil
}
