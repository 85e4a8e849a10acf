package store

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// What can be wrong with a home is said in a sentence, with what to do, and changes nothing.
func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, home string)
		code   awp.Code
		says   string
	}{
		{"a newer database", func(t *testing.T, home string) {
			exec(t, home, "PRAGMA user_version = 99")
		}, awp.Skew, "newer release"},
		{"no database", func(t *testing.T, home string) {
			write(t, filepath.Join(home, "awp.db"), strings.Repeat("not a database ", 100))
		}, awp.Invalid, "damaged"},
		{"a torn database", func(t *testing.T, home string) {
			path := filepath.Join(home, "awp.db")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(text[100:], make([]byte, 4000))
			write(t, path, string(text))
		}, awp.Invalid, "damaged"},
		{"a damaged key", func(t *testing.T, home string) {
			write(t, filepath.Join(home, "identity.json"), `{"key":"ed25519:x"`)
		}, awp.Invalid, "identity.json is damaged"},
		{"no key", func(t *testing.T, home string) {
			if err := os.Remove(filepath.Join(home, "identity.json")); err != nil {
				t.Fatal(err)
			}
		}, awp.Invalid, "identity.json is missing"},
		{"another agent's key", func(t *testing.T, home string) {
			id, err := wire.NewIdentity(nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, "identity.json"), string(id.MarshalFile()))
		}, awp.Invalid, "key of another agent"},
		{"a key of another seed", func(t *testing.T, home string) {
			write(t, filepath.Join(home, "identity.json"),
				`{"key":"ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","seed":"ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"}`)
		}, awp.Invalid, "identity.json is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, Settings{})
			h.store.Close()
			tt.damage(t, h.home)
			before, _ := os.ReadFile(filepath.Join(h.home, "awp.db"))
			_, err := Open(h.home, Settings{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
			if awp.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || awp.HintOf(err) == "" {
				t.Errorf("got %q %v (hint %q)", awp.CodeOf(err), err, awp.HintOf(err))
			}
			if after, _ := os.ReadFile(filepath.Join(h.home, "awp.db")); string(after) != string(before) {
				t.Error("the database was changed")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, home, query string) {
	db, err := sql.Open("sqlite", filepath.Join(home, "awp.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func TestOneStoreAHome(t *testing.T) {
	h := newHost(t, Settings{})
	if _, err := Open(h.home, Settings{}, slog.New(slog.NewTextHandler(io.Discard, nil))); awp.CodeOf(err) != awp.Busy {
		t.Errorf("second store: %v", err)
	}
	if _, err := h.store.Claim(h); awp.CodeOf(err) != awp.Busy {
		t.Errorf("second claim: %v", err)
	}
}

func TestHomeIsPrivate(t *testing.T) {
	h := newHost(t, Settings{})
	for _, name := range []string{"awp.db", "identity.json", "store.lock"} {
		fi, err := os.Stat(filepath.Join(h.home, name))
		if err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi.Mode(), err)
		}
	}
}

// Ids strictly increase whatever the clock does and however often the store starts: a
// peer's resume depends on it (PROTOCOL.md section 4).
func TestIDsIncreaseThroughRestartsAndClockSteps(t *testing.T) {
	now := newClock(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	h := newHost(t, Settings{Now: now.time})
	p := h.stranger("ann")
	var last awp.MessageID
	check := func(id awp.MessageID) {
		t.Helper()
		if id <= last {
			t.Fatalf("%s came after %s", id, last)
		}
		last = id
	}
	for _, step := range []time.Duration{0, -time.Hour, time.Minute, -24 * time.Hour * 365, time.Second} {
		now.step(step)
		r, err := h.store.Send(context.Background(), Message{Token: token(), Who: p.id.Key.String(), Parts: []Part{{Kind: wire.PartText, Text: "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		check(r.ID)
		p.send(p.text("t1", "y")) // an ack takes an id, too, and is not stored
		check(h.store.ids.Last())
		h.reopen()
		p.connect("ann")
		check(h.store.ids.Next())
	}
}

func TestSettingsAreRemembered(t *testing.T) {
	h := newHost(t, Settings{Name: "a@x", About: "tests", Harness: "codex", Model: "m1"})
	h.set = Settings{Model: "m2"}
	h.reopen()
	st, err := h.store.Status(context.Background())
	if err != nil || st.Name != "a@x" || st.About != "tests" || st.Harness != "codex" || st.Model != "m2" {
		t.Errorf("status %+v, %v", st, err)
	}
}

// PROTOCOL.md section 1: what is not acknowledged within the retention leaves the outbox;
// the log keeps it.
func TestRetention(t *testing.T) {
	now := newClock(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	h := newHost(t, Settings{OutboxTTL: time.Hour, Now: now.time})
	p := h.stranger("ann")
	h.store.Down(p.link, "test")
	for _, text := range []string{"old", "young"} {
		if _, err := h.store.Send(context.Background(), Message{Token: text, Who: "ann", Parts: []Part{{Kind: wire.PartText, Text: text}}}); err != nil {
			t.Fatal(err)
		}
		now.step(40 * time.Minute)
	}
	if err := h.store.expire(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.link = 0
	p.connect("ann")
	h.until("the young line", func() bool { return len(h.push[p.link]) > 0 })
	if got := h.push[p.link]; len(got) != 1 || !strings.Contains(got[0], "young") {
		t.Errorf("pushed %q", got)
	}
	acked := map[string]bool{}
	if _, err := h.store.Read(context.Background(), Filter{}, 50, func(e awp.Event) error {
		if e.Dir == awp.Out {
			acked[describe(e)] = e.Acked
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(acked) != 2 || acked["old"] {
		t.Errorf("log %v", acked)
	}
	equal(t, h.inbox(Filter{}), []string{"(expired)"})
}

func TestWants(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	h.store.Down(p.link, "test")
	if _, err := h.store.Send(context.Background(), Message{Token: "1", Who: "ann", Parts: []Part{{Kind: wire.PartText, Text: "x"}}}); err != nil {
		t.Fatal(err)
	}
	var w Want
	h.until("a want", func() bool { // others may follow it: the home looks at all its peers now and then
		i := slices.IndexFunc(h.wants, func(w Want) bool { return w.New })
		if i >= 0 {
			w = h.wants[i]
		}
		return i >= 0
	})
	if w.Peer != p.id.Key || len(w.Addrs) != 1 || w.Addrs[0] != (Target{"unix:/ann", "hello"}) {
		t.Errorf("want %+v", w)
	}
}

func TestAllowlist(t *testing.T) {
	h := newHost(t, Settings{Accept: AcceptAllowlist})
	p := &stranger{h: h, ids: wire.NewIDs(nil, nil)}
	id, err := wire.NewIdentity(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.id = id
	if a := p.admit("ann"); a.Refused == "" {
		t.Error("a stranger was admitted")
	}
	equal(t, h.inbox(Filter{}), []string{"(refused)"})
	h.set.Allow = []awp.Key{id.Key}
	h.reopen()
	if a := p.admit("ann"); a.Refused != "" {
		t.Errorf("an allowed key was refused: %s", a.Refused)
	}
}

// A home of the first schema keeps what it has, and can do what came later.
func TestHomeOfTheFirstSchema(t *testing.T) {
	home := t.TempDir()
	first, err := migrations.ReadFile("migrations/0001.sql")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, home, string(first)+"; INSERT INTO peer (key, name) VALUES (x'"+strings.Repeat("07", 32)+"', 'ann'); PRAGMA user_version = 1")
	h := &host{t: t, home: home}
	h.open()
	defer func() { h.store.Close() }()
	h.gives(awp.Key([]byte(strings.Repeat("\x07", 32))), "exec")
	if p := h.peersByName()["ann"]; len(p.Granted) != 1 {
		t.Errorf("%+v", p)
	}
}
