package render

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// request is what the store noted about a part that asks to use a capability.
type request struct {
	Part    int    `json:"part"`
	Cap     string `json:"cap"`
	Allowed bool   `json:"allowed"`
	Served  bool   `json:"served"`
}

// lapsed marks a line of ours that was given up: nobody knows whether the peer has it.
const lapsed = " · never acknowledged"

func (p *Printer) message(b []byte, e awp.Event, m wire.Msg) []byte {
	b = append(b, "msg "+Line(string(m.ID))...)
	if m.Re != "" {
		b = append(b, " (re "+Line(string(m.Re))+")"...)
	}
	switch {
	case e.Dir == awp.Out && e.Acked:
		b = append(b, " ✓"...)
	case e.Lapsed:
		b = append(b, lapsed...)
	}
	b = append(b, '\n')
	if p.Subject && m.Subject != "" {
		b = appendIndented(b, "subject: "+Line(m.Subject))
	}
	var meta struct {
		Requests []request `json:"requests"`
	}
	if len(e.Meta) > 0 {
		json.Unmarshal(e.Meta, &meta) //nolint:errcheck // without it the message still shows
	}
	for i, part := range m.Parts {
		b = appendPart(b, e, part)
		for _, r := range meta.Requests {
			if r.Part == i {
				b = appendIndented(b, r.verdict())
			}
		}
	}
	return b
}

func appendPart(b []byte, e awp.Event, part wire.Part) []byte {
	switch part.K {
	case wire.PartText:
		return appendIndented(b, Body(part.Text))
	case wire.PartCode:
		fence := fenceFor(part.Text)
		b = appendIndented(b, fence+Line(part.Lang))
		if part.Text != "" {
			b = appendIndented(b, Body(part.Text))
		}
		return appendIndented(b, fence)
	case wire.PartData:
		return appendIndented(b, dataLine(part))
	case wire.PartBlob:
		return appendIndented(b, fileLine(e, part))
	}
	return appendIndented(b, "["+Line(part.K)+" part]")
}

func dataLine(part wire.Part) string {
	mime := part.Mime
	if mime == "" {
		mime = "application/json"
	}
	data := append(jsontext.Value(nil), part.Data...)
	if data.Compact() != nil {
		data = part.Data
	}
	return "[data " + Line(mime) + "] " + Line(string(data))
}

func fileLine(e awp.Event, part wire.Part) string {
	blob, known := e.Blobs[part.Ref]
	name, mime := part.Name, part.Mime
	if name == "" {
		name = part.Ref
	}
	if mime == "" {
		mime = "application/octet-stream"
	}
	head := fmt.Sprintf("[file %s, %s, %s] ", Line(name), Line(mime), Size(part.Size))
	switch {
	case !known && e.Dir == awp.In:
		return head + "not received yet"
	case !known:
		return strings.TrimRight(head, " ")
	case e.Dir == awp.Out:
		return head + Line(blob.Status)
	case blob.Status == awp.BlobComplete && blob.Path != "":
		return head + Line(blob.Path)
	}
	return head + fmt.Sprintf("%s (%s of %s)", Line(blob.Status), Size(blob.Received), Size(part.Size))
}

func (r request) verdict() string {
	c := Line(r.Cap)
	switch {
	case r.Served:
		return "(asks for " + c + ": the peer holds a grant; answered automatically)"
	case r.Allowed:
		return "(asks for " + c + ": the peer holds a grant)"
	}
	return "(asks for " + c + " WITHOUT a grant: denied)"
}

// fenceFor returns a code fence longer than any in text, so that none in it ends the
// block early.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// appendIndented appends each line of text, two spaces in.
func appendIndented(b []byte, text string) []byte {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			b = append(b, "  "+line...)
		}
		b = append(b, '\n')
	}
	return b
}
