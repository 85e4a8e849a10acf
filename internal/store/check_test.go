package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

func TestCheckOfAWholeHome(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("thr_1", "hello"))
	h.until("the message", func() bool { return len(h.inbox(Filter{})) > 0 })
	got, err := h.store.Check(t.Context(), time.Minute)
	if err != nil || len(got.Problems) > 0 || got.Cut || got.Size == 0 || len(got.Ahead) > 0 || len(got.Refused) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if age := got.Now.Sub(got.Newest); age < 0 || age > time.Minute {
		t.Errorf("the newest record is %v old", age)
	}
}

func TestCheckIsBounded(t *testing.T) {
	h := newHost(t, Settings{})
	h.stranger("ann")
	got, err := h.store.Check(t.Context(), time.Nanosecond)
	if err != nil || !got.Cut || len(got.Problems) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	h.store.checking <- struct{}{} // somebody else is at it
	got, err = h.store.Check(t.Context(), 10*time.Millisecond)
	if <-h.store.checking; err != nil || !got.Cut || got.Newest.IsZero() {
		t.Errorf("beside another: %+v, %v", got, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := h.store.Check(gone, time.Minute); err == nil || got.Cut {
		t.Errorf("for a caller that left: %+v, %v", got, err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	for range 50 {
		p.send(p.text("thr_1", "hello"))
	}
	h.until("the messages", func() bool { return len(h.inbox(Filter{})) == 50 })
	h.store.Close()
	path := filepath.Join(h.home, "awp.db")
	var root int64
	db, ro, err := openDB(path)
	if err == nil {
		err = db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'line_id'").Scan(&root)
		db.Close()
		ro.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, 4096), (root-1)*4096)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.open()
	got, err := h.store.Check(t.Context(), time.Minute)
	if err != nil || len(got.Problems) == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCheckComparesClocks(t *testing.T) {
	at := newClock(time.Now())
	h := newHost(t, Settings{Now: at.time})
	p := h.stranger("ann")
	p.ids = wire.NewIDs(func() time.Time { return at.time().Add(time.Hour) }, nil)
	p.send(p.text("thr_1", "hello"))
	h.until("the message", func() bool { return len(h.inbox(Filter{})) > 0 })
	at.step(-24 * time.Hour)
	got, err := h.store.Check(t.Context(), time.Minute)
	if err != nil || len(got.Ahead) != 1 || got.Ahead[0].Peer != p.id.Key || got.Ahead[0].By.Round(time.Minute) != time.Hour {
		t.Errorf("got %+v, %v", got, err)
	}
	if back := got.Newest.Sub(got.Now); back.Round(time.Minute) != 24*time.Hour {
		t.Errorf("the newest record is %v ahead", back)
	}
}

func TestCheckNamesWhomWeRefuse(t *testing.T) {
	h := newHost(t, Settings{Accept: AcceptAllowlist})
	key := awp.Key{7}
	err := h.store.w.do(t.Context(), func(tx *tx) error {
		p, err := tx.ensurePeer(key)
		if err != nil {
			return err
		}
		return tx.note(p, noteRefused, true, map[string]any{"reason": "not admitted by policy"})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.store.Check(t.Context(), time.Minute)
	if err != nil || len(got.Refused) != 1 || got.Refused[0].Peer != key || got.Refused[0].Reason != "not admitted by policy" || got.Refused[0].At.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStatusTellsAwayFromNowhere(t *testing.T) {
	h := newHost(t, Settings{})
	away := func(want bool) {
		t.Helper()
		if st, err := h.store.Status(t.Context()); err != nil || st.WireAway != want {
			t.Errorf("away: %v, %v", st.WireAway, err)
		}
	}
	away(true)
	h.store.SetListening(Listening{})
	away(false)
	h.store.DropWire()
	away(true)
}
