package suite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/store"
	"github.com/awp-suite/awp/wire"
)

// record is all that a home's store knows at the end.
type record struct {
	h       *home
	key     awp.Key
	events  []awp.Event
	threads []awp.Thread
	blobs   []awp.Blob
}

// read opens the home's store, whose daemon is down.
func (h *home) read() record {
	h.t.Helper()
	s, err := store.Open(h.dir, store.Settings{}, slog.New(slog.DiscardHandler))
	check(h.t, err)
	defer s.Close()
	r := record{h: h, key: s.Key()}
	_, err = s.Read(context.Background(), store.Filter{}, math.MaxInt32, func(e awp.Event) error {
		r.events = append(r.events, e)
		return nil
	})
	check(h.t, err)
	r.threads, err = s.Threads(context.Background(), "", false, 0)
	check(h.t, err)
	r.blobs, err = s.Blobs(context.Background(), "")
	check(h.t, err)
	return r
}

// lines are the record's lines of a thread in one direction, without errs.
func (r record) lines(th awp.ThreadID, dir string) (list []awp.Event) {
	for _, e := range r.events {
		if e.Th == th && e.Dir == dir {
			list = append(list, e)
		}
	}
	return list
}

func (r record) thread(t *testing.T, th awp.ThreadID) awp.Thread {
	t.Helper()
	i := slices.IndexFunc(r.threads, func(row awp.Thread) bool { return row.Th == th })
	if i < 0 {
		t.Fatalf("%s has no thread %s", r.h.name, th)
	}
	return r.threads[i]
}

// exact checks, with both daemons down, that the two homes agree with what was said and
// with each other: nothing lost, nothing twice, everything in order and whole.
func (k *talk) exact() {
	k.t.Helper()
	k.a.ok("down")
	k.b.ok("down")
	a, b := k.a.read(), k.b.read()
	for _, v := range k.voices {
		from, to := a, b
		if v.h == k.b {
			from, to = b, a
		}
		unread := len(v.said)
		if to.h == k.read {
			unread = 0
		}
		v.exact(k.t, from, to, unread)
	}
	for _, r := range []record{a, b} {
		r.sound(k.t)
	}
}

// exact checks what one voice said.
func (v *voice) exact(t *testing.T, from, to record, unread int) {
	t.Helper()
	out, in := from.lines(v.th, awp.Out), to.lines(v.th, awp.In)
	if !slices.Equal(ids(out), v.said) {
		t.Errorf("%s said %d lines in %s, its log has others: %s", v.h.name, len(v.said), v.th, differ(ids(out), v.said))
	}
	if !slices.Equal(ids(in), v.said) {
		t.Errorf("%s said %d lines in %s, %s has others: %s", v.h.name, len(v.said), v.th, to.h.name, differ(ids(in), v.said))
	}
	for i := range min(len(out), len(in)) {
		if !bytes.Equal(out[i].Msg, in[i].Msg) {
			t.Errorf("%s line %d of %s differs:\n%s\n%s", v.h.name, i, v.th, clip(out[i].Msg), clip(in[i].Msg))
		}
		if !out[i].Acked {
			t.Errorf("%s line %d of %s is not marked as acknowledged", v.h.name, i, v.th)
		}
		if text, ok := v.texts[out[i].ID]; ok && !strings.Contains(textOf(in[i]), text) {
			t.Errorf("%s line %d of %s does not have its text", v.h.name, i, v.th)
		}
		if sum, ok := v.sums[out[i].ID]; ok {
			v.file(t, out[i], in[i], sum)
		}
	}
	mine, theirs := from.thread(t, v.th), to.thread(t, v.th)
	if got := strings.TrimSpace(mine.MyState + " " + mine.MyNote); got != v.state {
		t.Errorf("%s reported %q in %s, its own view is %q", v.h.name, v.state, v.th, got)
	}
	if got := strings.TrimSpace(theirs.TheirState + " " + theirs.TheirNote); got != v.state {
		t.Errorf("%s reported %q in %s, %s thinks %q", v.h.name, v.state, v.th, to.h.name, got)
	}
	if theirs.Unread != unread {
		t.Errorf("%s counts %d unread in %s, want %d", to.h.name, theirs.Unread, v.th, unread)
	}
}

// file checks the file of one message on both sides.
func (v *voice) file(t *testing.T, out, in awp.Event, sum [32]byte) {
	t.Helper()
	for _, b := range out.Blobs {
		if b.Status != awp.BlobSent {
			t.Errorf("%s: a file sent with %s is %s", v.h.name, out.ID, b.Status)
		}
	}
	if len(out.Blobs) != 1 || len(in.Blobs) != 1 {
		t.Errorf("message %s has %d files on its sender's side and %d on the other", out.ID, len(out.Blobs), len(in.Blobs))
	}
	for _, b := range in.Blobs {
		if b.Status != awp.BlobComplete {
			t.Errorf("a file that came with %s is %s", in.ID, b.Status)
			continue
		}
		data, err := os.ReadFile(b.Path)
		if err != nil || sha256.Sum256(data) != sum {
			t.Errorf("the file of %s is not what was sent (%d bytes, %v)", in.ID, len(data), err)
		}
	}
}

// sound checks one home by itself.
func (r record) sound(t *testing.T) {
	t.Helper()
	for i, e := range r.events {
		if e.Type == "err" {
			t.Errorf("%s has an err in its log: %s", r.h.name, clip(e.Msg))
		}
		if i > 0 && e.Seq <= r.events[i-1].Seq {
			t.Errorf("%s: log numbers do not grow at %d", r.h.name, e.Seq)
		}
	}
	var left []string
	blobs := filepath.Join(r.h.dir, "blobs")
	filepath.WalkDir(blobs, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // no file was sent
		if err == nil && !d.IsDir() && !strings.HasSuffix(filepath.Dir(path), ".d") {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("%s: files left over: %q", r.h.name, left)
	}
	for line := range strings.Lines(r.h.log()) {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, "it is restarted") || strings.HasPrefix(line, "panic") {
			t.Errorf("%s: in daemon.log: %s", r.h.name, line)
		}
	}
}

func ids(events []awp.Event) []awp.MessageID {
	list := make([]awp.MessageID, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}

// differ shows the first difference.
func differ(got, want []awp.MessageID) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = string(got[i])
		}
		if i < len(want) {
			w = string(want[i])
		}
		if g != w {
			return strings.Join([]string{"of", itoa(len(got)), "lines number", itoa(i), "is", g, "not", w}, " ")
		}
	}
	return "none"
}

func itoa(n int) string { return strconv.Itoa(n) }

func clip(line []byte) string { return string(line[:min(len(line), 200)]) }

// textOf is the text of a message.
func textOf(e awp.Event) string {
	m, err := wire.Decode[wire.Msg](e.Msg)
	if err != nil {
		return ""
	}
	var text string
	for _, p := range m.Parts {
		text += p.Text
	}
	return text
}
