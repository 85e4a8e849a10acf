package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// PROTOCOL.md section 8: a duplicate is dropped and acknowledged again.
func TestDuplicateIsAckedAgain(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	line := p.text("t1", "once")
	p.send(line, line)
	p.connect("ann")
	p.send(line)
	env, _ := wire.ParseEnvelope(line)
	if got := len(h.acks[1]) + len(h.acks[2]); got != 3 || h.acks[2][0] != env.ID {
		t.Errorf("acks: %v", h.acks)
	}
	equal(t, h.inbox(Filter{}), []string{"once"})
}

// PROTOCOL.md section 8: seen is the largest id, and covers chunks.
func TestSeenIsTheLargestID(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	first, second := p.text("t1", "a"), p.text("t1", "b")
	p.send(second, first)
	chunk := p.chunk("t2", "r", 0, false, "x")
	p.send(chunk)
	seen := p.connect("ann").Seen
	b, _ := wire.ParseEnvelope(second)
	c, _ := wire.ParseEnvelope(chunk)
	if len(seen) != 2 || seen["t1"] != b.ID || seen["t2"] != c.ID {
		t.Errorf("seen %v", seen)
	}
}

// One bad line ends its link, counts for nothing, and harms nobody else.
func TestBadLineEndsOnlyItsLink(t *testing.T) {
	h := newHost(t, Settings{})
	ann, bob := h.stranger("ann"), h.stranger("bob")
	for _, bad := range []string{
		`{"t":"msg","id":"x1","ts":"2026-01-01T00:00:00Z","parts":[]}`,
		`{"t":"state","id":"x2","ts":"2026-01-01T00:00:00Z","th":"t1"}`,
		`{"t":"chunk","id":"x3","ts":"2026-01-01T00:00:00Z","th":"t1","data":""}`,
		`{"t":"msg","id":"x4","t":"msg"}`,
		`[]`, `nonsense`, ``,
	} {
		ann.connect("ann")
		ann.send(ann.text("t1", "before "+bad), []byte(bad), ann.text("t1", "after"))
		h.until("the link's end", func() bool { return h.last[ann.link] })
		equal(t, ann.errs(), []string{"bad_frame"})
		bob.send(bob.text("t1", "fine"))
	}
	for _, text := range h.inbox(Filter{Who: "ann"}) {
		if text == "after" {
			t.Error("a line after the bad one was taken")
		}
	}
	if got := len(h.inbox(Filter{Who: "bob"})); got != 7 {
		t.Errorf("bob's lines: %d", got)
	}
}

// A change that fails is rolled back alone; the others of its batch are done.
func TestFailingChangeHarmsNoOther(t *testing.T) {
	h := newHost(t, Settings{})
	hold := make(chan struct{})
	go h.store.w.do(context.Background(), func(*tx) error { <-hold; return nil }) //nolint:errcheck // it holds the committer
	results := make(chan error, 3)
	for i := range 3 {
		h.store.w.submit(op{
			apply: func(t *tx) error {
				if err := t.exec("INSERT INTO memory (name, value) VALUES (?, 'x')", string(rune('a'+i))); err != nil {
					return err
				}
				if i == 1 {
					return os.ErrInvalid
				}
				return nil
			},
			done: func(err error) { results <- err },
		})
	}
	close(hold)
	failed := 0
	for range 3 {
		if err := <-results; err != nil {
			failed++
		}
	}
	var names string
	if err := h.store.ro.QueryRow("SELECT group_concat(name, '') FROM (SELECT name FROM memory WHERE length(name) = 1 ORDER BY name)").Scan(&names); err != nil {
		t.Fatal(err)
	}
	if failed != 1 || names != "ac" {
		t.Errorf("%d failed, stored %q", failed, names)
	}
}

// PROTOCOL.md section 8: a line that cannot be stored gets err internal and ends the
// link, later ones of the link are not taken, and its sender's replay brings them all.
func TestStorageFailureLosesNothing(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("t1", "one"))
	if err := h.store.w.do(context.Background(), func(t *tx) error { return t.exec("PRAGMA max_page_count = 1") }); err != nil {
		t.Fatal(err)
	}
	big := p.text("t1", strings.Repeat("x", 500_000))
	after := p.text("t1", "after")
	p.send(big, after)
	h.until("the link's end", func() bool { return h.last[p.link] })
	equal(t, p.errs(), []string{"internal"})
	if _, err := h.store.Send(context.Background(), Message{Token: "t", Who: "ann", Parts: []Part{{Kind: wire.PartText, Text: strings.Repeat("y", 500_000)}}}); awp.CodeOf(err) != awp.Full {
		t.Errorf("send on a full disk: %v", err)
	}
	if err := h.store.w.do(context.Background(), func(t *tx) error { return t.exec("PRAGMA max_page_count = 1000000") }); err != nil {
		t.Fatal(err)
	}
	p.connect("ann")
	p.send(big, after)
	if got := h.inbox(Filter{}); len(got) != 3 || got[0] != "one" || got[2] != "after" {
		t.Errorf("inbox holds %d", len(got))
	}
}

func TestStatesAndTheirTimes(t *testing.T) {
	now := newClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	h := newHost(t, Settings{Now: now.time})
	p := h.stranger("ann")
	state := func(s, note string) []byte {
		return p.encode(wire.State{Envelope: p.env(wire.TypeState, "t1"), State: s, Note: note})
	}
	p.send(state("working", ""))
	now.step(time.Hour)
	p.send(state("working", "")) // the same again: since stays
	list, err := h.store.Threads(context.Background(), "", false, 0)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	th := list[0]
	if th.TheirState != "working" || !th.TheirSince.Equal(now.time().Add(-time.Hour)) || !th.Updated.Equal(now.time()) || th.MyState != "open" || th.Origin != "them" {
		t.Errorf("thread %+v", th)
	}
	if _, err := h.store.SetState(context.Background(), StateReport{Token: "a", Thread: "t1", State: "done"}); err != nil {
		t.Fatal(err)
	}
	if open, _ := h.store.Threads(context.Background(), "ann", true, 0); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
	if _, err := h.store.SetState(context.Background(), StateReport{Token: "b", Thread: "t9", State: "done"}); awp.CodeOf(err) != awp.NotFound {
		t.Errorf("state of an unknown thread: %v", err)
	}
}

// PROTOCOL.md section 16: what a receiver does with a file, whatever order and whatever
// lies its sender tells.
func TestIncomingFiles(t *testing.T) {
	blob := func(ref string, size int64) wire.Part {
		return wire.Part{K: wire.PartBlob, Ref: ref, Name: "../../etc/passwd", Size: size}
	}
	tests := []struct {
		name   string
		lines  func(p *stranger) [][]byte
		status string
		errs   []string
		data   string
	}{
		{"chunks first", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, false, "ab"), p.chunk("t", "r", 1, true, "c"), p.msg("t", blob("r", 3))}
		}, "complete", nil, "abc"},
		{"message first", func(p *stranger) [][]byte {
			return [][]byte{p.msg("t", blob("r", 3)), p.chunk("t", "r", 0, false, "ab"), p.chunk("t", "r", 1, true, "c")}
		}, "complete", nil, "abc"},
		{"message between", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, false, "ab"), p.msg("t", blob("r", 3)), p.chunk("t", "r", 1, true, "c")}
		}, "complete", nil, "abc"},
		{"empty", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, true, ""), p.msg("t", blob("r", 0))}
		}, "complete", nil, ""},
		{"chunk twice", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, false, "ab"), p.chunk("t", "r", 0, false, "xx"), p.chunk("t", "r", 1, true, "c"), p.msg("t", blob("r", 3))}
		}, "complete", nil, "abc"},
		{"gap", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 1, false, "ab"), p.msg("t", blob("r", 3))}
		}, "refused", []string{"blob_refused r"}, ""},
		{"over the limit", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, true, strings.Repeat("x", 101)), p.msg("t", blob("r", 3))}
		}, "refused", []string{"blob_refused r"}, ""},
		{"declares too much", func(p *stranger) [][]byte {
			return [][]byte{p.msg("t", blob("r", 101)), p.chunk("t", "r", 0, false, "ab")}
		}, "refused", []string{"blob_refused r"}, ""},
		{"more than declared", func(p *stranger) [][]byte {
			return [][]byte{p.msg("t", blob("r", 1)), p.chunk("t", "r", 0, false, "ab")}
		}, "refused", []string{"blob_refused r"}, ""},
		{"not base64", func(p *stranger) [][]byte {
			return [][]byte{p.encode(wire.Chunk{Envelope: p.env(wire.TypeChunk, "t"), Ref: "r", Data: "!!"}), p.msg("t", blob("r", 1))}
		}, "refused", []string{"blob_refused r"}, ""},
		{"only chunks", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "r", 0, true, "ab")}
		}, "received", nil, ""},
		{"ref with a path in it", func(p *stranger) [][]byte {
			return [][]byte{p.chunk("t", "../../r", 0, true, "ab"), p.msg("t", blob("../../r", 2))}
		}, "complete", nil, "ab"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, Settings{BlobLimit: 100})
			p := h.stranger("ann")
			lines := tt.lines(p)
			p.send(lines...)
			p.connect("ann")
			p.send(lines...) // a replay changes nothing
			blobs, err := h.store.Blobs(context.Background(), "ann")
			if err != nil || len(blobs) != 1 || blobs[0].Status != tt.status {
				t.Fatalf("blobs %+v, %v", blobs, err)
			}
			p.link--
			equal(t, p.errs(), tt.errs)
			if tt.status != "complete" {
				return
			}
			data, err := os.ReadFile(blobs[0].Path)
			if err != nil || string(data) != tt.data {
				t.Errorf("file %q, %v", data, err)
			}
			if rel, err := filepath.Rel(filepath.Join(h.home, "blobs"), blobs[0].Path); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("path %s", blobs[0].Path)
			}
			inbox := h.inbox(Filter{})
			if slices.Contains(inbox, "(blob)") != (tt.name == "message first" || tt.name == "message between") {
				t.Errorf("inbox %q", inbox)
			}
		})
	}
}

// PROTOCOL.md section 10: blob_refused drops the rest of that file and keeps the message.
func TestPeerRefusesAFile(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("t1", "hi"))
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 3*wire.ChunkSize), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := h.store.Send(context.Background(), Message{Token: "x", Thread: "t1", Parts: []Part{{Kind: wire.PartBlob, Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	blobs, _ := h.store.Blobs(context.Background(), "")
	p.send(p.encode(wire.Err{Envelope: wire.Envelope{T: wire.TypeErr, ID: p.ids.Next(), TS: wire.Stamp(time.Now()), Re: r.ID}, Code: wire.BlobRefused, Ref: blobs[0].Ref}))
	blobs, _ = h.store.Blobs(context.Background(), "")
	if blobs[0].Status != awp.BlobRefused {
		t.Errorf("blob %+v", blobs[0])
	}
	equal(t, h.inbox(Filter{Thread: "t1"}), []string{"hi", "(err)"})
	if left, _ := os.ReadDir(filepath.Join(h.home, "blobs", "out")); len(left) != 0 {
		t.Error("the copy was kept")
	}
}
