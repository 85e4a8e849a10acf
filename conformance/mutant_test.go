package conformance

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// mutants are the ways to be broken, and the scenario that notices.
var mutants = map[string]string{
	"acks before reading":     "no-ack-unsent",
	"acks duplicates not":     "dedup",
	"repeats its ack":         "dedup",
	"acks in wrong order":     "burst",
	"acks without thread":     "msg-ack",
	"re-encodes lines":        "hello-exact-bytes",
	"remembers nothing":       "resume-seen",
	"remembers the last":      "resume-max",
	"resumes for all keys":    "resume-private",
	"checks no signature":     "auth-bad-sig",
	"takes its own key":       "hello-own-key",
	"speaks any version":      "version",
	"waits for hello":         "handshake",
	"closes at unknown types": "unknown-type",
	"goes on after bad lines": "bad-frame",
	"answers pings wrongly":   "ping",
	"acks chunks":             "chunk-never-acked",
	"closes at any err":       "err-nonclosing",
	"ignores bye":             "bye",
	"one nonce for ever":      "nonce-fresh",
	"writes lines off schema": "ping",
	"keeps the older":         "newer-wins",
}

func TestMutants(t *testing.T) {
	for fault, scenario := range mutants {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if r := hold(t, "", scenario); r.Status != Pass {
				t.Errorf("%s fails a good peer: %s\n%s", scenario, r.Reason, strings.Join(r.Lines, "\n"))
			}
			if r := hold(t, fault, scenario); r.Status != Fail || r.Reason == "" {
				t.Errorf("%s is %s", scenario, r.Status)
			}
		})
	}
}

func hold(t *testing.T, fault, scenario string) Result {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	us, err := wire.NewIdentity(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &fakePeer{fault: fault, us: us, ids: wire.NewIDs(time.Now, nil), known: map[string]awp.MessageID{}, seen: map[string]map[awp.ThreadID]awp.MessageID{}, live: map[string]net.Conn{}}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(nc)
		}
	}()
	report, err := Run(context.Background(), Options{
		Dial: func(context.Context) (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) },
		Only: []string{scenario}, Step: 2 * time.Second,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report.Results[0]
}

// fakePeer is as much of a peer as the scenarios of mutants ask for, with one fault.
type fakePeer struct {
	fault string
	us    wire.Identity
	ids   *wire.IDs
	mu    sync.Mutex // guards the maps
	known map[string]awp.MessageID
	seen  map[string]map[awp.ThreadID]awp.MessageID
	live  map[string]net.Conn
}

func (p *fakePeer) serve(nc net.Conn) {
	defer nc.Close()
	env := func(typ string, re awp.MessageID) wire.Envelope {
		return wire.Envelope{T: typ, ID: p.ids.Next(), TS: wire.Stamp(time.Now()), Re: re}
	}
	send := func(v any) []byte {
		raw, _ := wire.Encode(v)
		nc.Write(append(raw, '\n')) //nolint:errcheck // a test's
		return raw
	}
	refuse := func(code wire.Code, re awp.MessageID) {
		send(wire.NewErr(p.ids.Next(), wire.Stamp(time.Now()), re, code, "", ""))
	}
	r := wire.NewReader(nc)
	next := func() []byte {
		line, err := r.ReadLine()
		if err != nil {
			return nil
		}
		return []byte(string(line))
	}
	nonce := string(p.ids.Next()) + strings.Repeat("A", 17)
	if p.fault == "one nonce for ever" {
		nonce = strings.Repeat("A", 43)
	}
	var theirs []byte
	if p.fault == "waits for hello" {
		if theirs = next(); theirs == nil {
			return
		}
	}
	ours := send(wire.Hello{Envelope: env(wire.TypeHello, ""), Key: p.us.Key.String(), Nonce: nonce, Caps: []string{wire.CapBlob}})
	if theirs == nil {
		theirs = next()
	}
	h, err := wire.Decode[wire.Hello](theirs)
	key, keyErr := awp.ParseKey(h.Key)
	switch {
	case err != nil:
		refuse(wire.BadFrame, "")
		return
	case h.V != 0 && p.fault != "speaks any version":
		refuse(wire.BadVersion, h.ID)
		return
	case keyErr != nil || key == p.us.Key && p.fault != "takes its own key":
		refuse(wire.AuthFailed, h.ID)
		return
	}
	if p.fault == "re-encodes lines" {
		theirs, _ = wire.Encode(h)
	}
	send(wire.Auth{Envelope: env(wire.TypeAuth, ""), Sig: p.us.SignAuth(ours, theirs)})
	a, err := wire.Decode[wire.Auth](next())
	if p.fault != "checks no signature" && (err != nil || wire.VerifyAuth(key, a.Sig, theirs, ours) != nil) {
		refuse(wire.AuthFailed, "")
		return
	}
	who := h.Key
	if p.fault == "resumes for all keys" {
		who = ""
	}
	p.mu.Lock()
	if old := p.live[h.Key]; old != nil && p.fault != "keeps the older" {
		old.Close()
	}
	p.live[h.Key] = nc
	seen := map[awp.ThreadID]awp.MessageID{}
	for th, id := range p.seen[who] {
		if p.fault != "remembers nothing" {
			seen[th] = id
		}
	}
	p.mu.Unlock()
	send(wire.Resume{Envelope: env(wire.TypeResume, ""), Seen: seen})
	var held *wire.Envelope
	for n := 0; ; n++ {
		if p.fault == "acks before reading" && n == 1 {
			a := wire.Ack{Envelope: env(wire.TypeAck, "early")}
			a.Th = "t"
			send(a)
		}
		line := next()
		if line == nil {
			return
		}
		e, err := wire.ParseEnvelope(line)
		if err != nil {
			if p.fault == "goes on after bad lines" {
				continue
			}
			refuse(wire.BadFrame, "")
			return
		}
		switch e.T {
		case wire.TypePing:
			if p.fault == "answers pings wrongly" {
				e.ID = "other"
			}
			pong := wire.Pong{Envelope: env(wire.TypePong, e.ID)}
			if p.fault == "writes lines off schema" {
				pong.TS = "yesterday"
			}
			send(pong)
		case wire.TypeBye:
			if p.fault == "ignores bye" {
				continue
			}
			send(wire.Bye{Envelope: env(wire.TypeBye, e.ID)})
			return
		case wire.TypeErr:
			if p.fault == "closes at any err" {
				return
			}
		case wire.TypeMsg, wire.TypeState, wire.TypeChunk:
			p.mu.Lock()
			if p.seen[who] == nil {
				p.seen[who] = map[awp.ThreadID]awp.MessageID{}
			}
			if e.ID > p.seen[who][e.Th] || p.fault == "remembers the last" {
				p.seen[who][e.Th] = e.ID
			}
			first, again := p.known[string(e.ID)]
			ack := wire.Ack{Envelope: env(wire.TypeAck, e.ID)}
			ack.Th = e.Th
			if !again {
				p.known[string(e.ID)] = ack.ID
			} else if p.fault == "repeats its ack" {
				ack.ID = first
			}
			p.mu.Unlock()
			if p.fault == "acks without thread" {
				ack.Th = ""
			}
			if e.T == wire.TypeChunk && p.fault != "acks chunks" || again && p.fault == "acks duplicates not" {
				continue
			}
			if p.fault == "acks in wrong order" && held == nil {
				held = &ack.Envelope
				continue
			}
			send(ack)
			if held != nil {
				send(wire.Ack{Envelope: *held})
			}
		case wire.TypeResume, wire.TypeAck, wire.TypePong:
		default:
			if p.fault == "closes at unknown types" {
				return
			}
		}
	}
}
