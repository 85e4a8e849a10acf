package render

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Printer renders events, one after the other.
type Printer struct {
	Zone    *time.Location // of the clock before each event
	Banner  bool           // name the thread where it changes
	Subject bool           // show the subject of a message that carries one, for want of a banner

	last thread // of the last banner
}

// thread is what the same id with two peers is: two threads.
type thread struct {
	peer awp.Key
	th   awp.ThreadID
}

// Append renders e at the end of b: a header line, and below it, indented, what the line
// says.
func (p *Printer) Append(b []byte, e awp.Event) []byte {
	label := Line(awp.Label("", e.PeerName, e.Peer))
	if in := (thread{e.Peer, e.Th}); p.Banner && e.Th != "" && in != p.last {
		p.last = in
		b = append(b, "── "+Line(string(e.Th))...)
		if e.Subject != "" {
			b = append(b, ` "`+Line(e.Subject)+`"`...)
		}
		b = append(b, " with "+label+"\n"...)
	}
	b = e.At.In(p.Zone).AppendFormat(b, "[15:04:05] ")
	switch e.Dir {
	case awp.In:
		b = append(b, "< "+label...)
	case awp.Out:
		b = append(b, "> you → "+label...)
	default:
		b = append(b, "* "+label...)
	}
	b = append(b, " · "...)
	if e.Dir == awp.Sys {
		return appendNoted(b, e, label)
	}
	return p.line(b, e)
}

// line says what a line of ours or the peer's says.
func (p *Printer) line(b []byte, e awp.Event) []byte {
	switch e.Type {
	case "msg":
		if m, err := wire.Decode[wire.Msg](e.Msg); err == nil {
			return p.message(b, e, m)
		}
	case "state":
		if m, err := wire.Decode[wire.State](e.Msg); err == nil {
			b = append(b, "state "+Line(m.State)...)
			if m.Note != "" {
				b = append(b, ": "+Line(m.Note)...)
			}
			if e.Lapsed {
				b = append(b, lapsed...)
			}
			return append(b, '\n')
		}
	case "grant":
		return p.grant(b, e)
	case "introduce":
		if m, err := wire.Decode[wire.Introduce](e.Msg); err == nil {
			return appendIntroduce(b, e, m)
		}
	case "err":
		if m, err := wire.Decode[wire.Err](e.Msg); err == nil {
			return appendErr(b, m)
		}
	}
	return appendRaw(b, e.Type, e.Msg)
}

// appendRaw shows what this release has no words for.
func appendRaw(b []byte, typ string, raw jsontext.Value) []byte {
	b = append(b, Line(typ)...)
	if len(raw) > 0 {
		b = append(b, " "+Line(string(raw))...)
	}
	return append(b, '\n')
}

func (p *Printer) grant(b []byte, e awp.Event) []byte {
	var meta struct {
		Caps []string  `json:"caps"`
		Exp  time.Time `json:"exp"`
	}
	if err := json.Unmarshal(e.Meta, &meta); err != nil {
		return appendRaw(b, e.Type, e.Msg)
	}
	if e.Dir == awp.Out {
		b = append(b, "you granted "...)
	} else {
		b = append(b, "granted you "...)
	}
	layout := "15:04"
	if exp := meta.Exp.In(p.Zone); exp.Sub(e.At) >= day || exp.Day() != e.At.In(p.Zone).Day() {
		layout = "Jan 2 15:04"
	}
	b = append(appendCaps(b, meta.Caps), " until "...)
	return append(meta.Exp.In(p.Zone).AppendFormat(b, layout), '\n')
}

func appendCaps(b []byte, caps []string) []byte {
	b = append(b, '[')
	for i, c := range caps {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, Line(c)...)
	}
	return append(b, ']')
}

func appendIntroduce(b []byte, e awp.Event, m wire.Introduce) []byte {
	key, err := awp.ParseKey(m.Peer.Key)
	if err != nil {
		return appendRaw(b, e.Type, e.Msg)
	}
	b = append(b, "introduces "+Line(awp.Label("", m.Peer.Name, key))+" ("+key.String()+")"...)
	if m.Peer.Address != "" {
		b = append(b, " at "+Line(m.Peer.Address)...)
	}
	var meta struct {
		Caps *[]string `json:"caps"` // as the home judged the grant: the line may say anything
	}
	if len(e.Meta) > 0 && json.Unmarshal(e.Meta, &meta) == nil && meta.Caps != nil {
		b = appendCaps(append(b, " with a grant for "...), *meta.Caps)
	}
	b = append(b, '\n')
	if e.Dir == awp.Out {
		return b
	}
	if m.Peer.Name == "" || m.Peer.Name[0] == '-' {
		return append(b, "  to connect: awp connect -- "+key.Short()+"\n"...)
	}
	return append(b, "  to connect: awp connect "+Arg(m.Peer.Name)+"\n"...)
}

func appendErr(b []byte, m wire.Err) []byte {
	b = append(b, "err "+Line(string(m.Code))...)
	if m.Detail != "" {
		b = append(b, ": "+Line(m.Detail)...)
	}
	if m.Re != "" {
		b = append(b, " (re "+Line(string(m.Re))+")"...)
	}
	return append(b, '\n')
}
