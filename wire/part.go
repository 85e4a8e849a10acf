package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
)

// Kinds of a [Part].
const (
	PartText = "text" // Text
	PartCode = "code" // Lang, Text
	PartData = "data" // Mime, Data
	PartBlob = "blob" // Ref, Name, Mime, Size
)

// Part is a piece of a message (section 11). Which fields count depends on K, as the
// kinds say; of those Lang, Name and Mime are left out when empty, the rest is always
// written. All that a peer wrote beside them stands in X: members its version knows and
// ours does not, and everything but k in a part of an unknown kind. So a part is
// written with the members it was read with.
type Part struct {
	K    string
	Text string
	Lang string
	Mime string
	Data jsontext.Value // any JSON; nil is written as null
	Ref  string         // names the blob whose chunks carry the file
	Name string         // the file's, as its sender calls it; see SafeName
	Size int64          // bytes, as declared
	X    jsontext.Value // a JSON object of further members; nil for none
}

// The kinds as they stand on the wire.
type (
	textPart struct {
		K    string         `json:"k"`
		Text string         `json:"text"`
		X    jsontext.Value `json:",embed"`
	}
	codePart struct {
		K    string         `json:"k"`
		Lang string         `json:"lang,omitzero"`
		Text string         `json:"text"`
		X    jsontext.Value `json:",embed"`
	}
	dataPart struct {
		K    string         `json:"k"`
		Mime string         `json:"mime,omitzero"`
		Data jsontext.Value `json:"data"`
		X    jsontext.Value `json:",embed"`
	}
	blobPart struct {
		K    string         `json:"k"`
		Ref  string         `json:"ref"`
		Name string         `json:"name,omitzero"`
		Mime string         `json:"mime,omitzero"`
		Size int64          `json:"size"`
		X    jsontext.Value `json:",embed"`
	}
	otherPart struct {
		K string         `json:"k"`
		X jsontext.Value `json:",embed"`
	}
)

// MarshalJSONTo writes the members of p's kind and those in X, which must not be the same.
func (p Part) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch p.K {
	case PartText:
		return json.MarshalEncode(enc, &textPart{p.K, p.Text, p.X})
	case PartCode:
		return json.MarshalEncode(enc, &codePart{p.K, p.Lang, p.Text, p.X})
	case PartData:
		return json.MarshalEncode(enc, &dataPart{p.K, p.Mime, p.Data, p.X})
	case PartBlob:
		return json.MarshalEncode(enc, &blobPart{p.K, p.Ref, p.Name, p.Mime, p.Size, p.X})
	}
	return json.MarshalEncode(enc, &otherPart{p.K, p.X})
}

// UnmarshalJSONFrom reads a part of any kind. Only members of its own kind must be of
// the right type: a member that other kinds know is just an unknown one here.
func (p *Part) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() != '{' {
		return errors.New("part is not an object")
	}
	kind, err := partKind(raw)
	if err != nil {
		return err
	}
	switch kind {
	case PartText:
		var w textPart
		err = json.Unmarshal(raw, &w)
		*p = Part{K: w.K, Text: w.Text, X: w.X}
	case PartCode:
		var w codePart
		err = json.Unmarshal(raw, &w)
		*p = Part{K: w.K, Lang: w.Lang, Text: w.Text, X: w.X}
	case PartData:
		var w dataPart
		err = json.Unmarshal(raw, &w)
		*p = Part{K: w.K, Mime: w.Mime, Data: w.Data, X: w.X}
	case PartBlob:
		var w blobPart
		err = json.Unmarshal(raw, &w)
		*p = Part{K: w.K, Ref: w.Ref, Name: w.Name, Mime: w.Mime, Size: w.Size, X: w.X}
	default:
		var w otherPart
		err = json.Unmarshal(raw, &w)
		*p = Part{K: w.K, X: w.X}
	}
	return err
}

// partKind finds k. Where it comes first, as it does in what peers write, that spares a
// second parse; a k that comes again is then refused by the one that follows.
func partKind(raw []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(raw, []byte(`{"k":`)); ok {
		s := scanner{rest: rest}
		if k := s.quoted(); !s.failed {
			return string(k), nil
		}
	}
	var kind struct {
		K string `json:"k"`
	}
	err := json.Unmarshal(raw, &kind)
	return kind.K, err
}
