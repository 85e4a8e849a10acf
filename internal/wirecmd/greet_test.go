package wirecmd

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

func TestHandshakeAndBothWays(t *testing.T) {
	inBubble(t, config.Settings{Advertise: "unix:/here"}, func(w *world) {
		p := w.connect(identity(2))
		p.greet()
		h, err := wire.Decode[wire.Hello](p.ours)
		if err != nil || h.Name != "us" || h.About != "a test" || h.Addr != "unix:/here" || h.Nonce == "" || strings.Join(h.Caps, " ") != strings.Join(wire.Caps(), " ") {
			t.Errorf("hello %+v, %v", h, err)
		}
		r, err := wire.Decode[wire.Resume]([]byte(p.expect(wire.TypeResume)))
		if err != nil || r.Seen["th"] != "01" {
			t.Errorf("resume %+v, %v", r, err)
		}
		odd := `{"t":"resume", "seen":{"x":"1"}, "odd": true }`
		msg := ` {"th":"x","t":"msg","id":"1","parts":[ ]}` + "\r"
		p.write(odd, msg, `{"t":"later","id":"2"}`)
		synctest.Wait()
		if got, want := w.store.story(), "link.claim identity.sign link.admit link.resume link.in"; got != want {
			t.Errorf("store heard %s, want %s", got, want)
		}
		if c := w.store.calls(ipc.LinkResume.Name); len(c) != 1 || c[0].lines[0] != odd {
			t.Errorf("resume came as %v", c)
		}
		if got := w.store.linesIn(); strings.Join(got, "|") != msg+`|{"t":"later","id":"2"}` {
			t.Errorf("store got %q", got)
		}
		if c := w.store.calls(ipc.LinkAdmit.Name); c[0].lines[0] != string(p.hello) {
			t.Errorf("admission of %q, sent %q", c[0].lines[0], p.hello)
		}
		w.store.out(1, ipc.OutParams{}, `{"t":"msg", "id":"a"}`, `{"t":"msg","id":"b"}`)
		w.store.out(1, ipc.OutParams{Control: true}, `{"t":"ack"}`)
		seen := map[string]int{}
		for range 3 {
			env, _ := wire.ParseEnvelope([]byte(p.next()))
			seen[env.T]++
		}
		if seen["msg"] != 2 || seen["ack"] != 1 {
			t.Errorf("peer got %v", seen)
		}
		p.nc.Close()
		synctest.Wait()
		if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 || c[0].params != `{"link":1,"reason":"closed by the peer"}` {
			t.Errorf("down: %v", c)
		}
	})
}

// Grants go both ways with the auth, byte for byte: ours from the store, the peer's to it.
func TestGrantsAreCarried(t *testing.T) {
	ours, theirs := `{"b": 1.50,"a":"\u0041"}`, []string{`{ "x":[1,  2]}`, `7`}
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.grants = []string{ours}
		p := w.connect(identity(2))
		p.sayHello()
		if line := p.expect(wire.TypeAuth); !strings.Contains(line, `"grants":[`+ours+`]`) {
			t.Errorf("our auth is %s", line)
		}
		p.write(`{"t":"auth","id":"a","sig":"` + p.id.SignAuth(p.hello, p.ours) + `","grants":[` + strings.Join(theirs, " , ") + `]}`)
		p.expect(wire.TypeResume)
		if c := w.store.calls(ipc.LinkAdmit.Name); len(c) != 1 || !slices.Equal(c[0].lines, append([]string{string(p.hello)}, theirs...)) {
			t.Errorf("admission of %q", c)
		}
	})
}

func TestRefusedByTheStore(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.admit = func(ipc.AdmitParams) (ipc.AdmitResult, bool) {
			return ipc.AdmitResult{Refused: "not on the list"}, true
		}
		p := w.connect(identity(2))
		p.greet()
		e, _ := wire.Decode[wire.Err]([]byte(p.expect(wire.TypeErr)))
		if e.Code != wire.AuthFailed || e.Detail != "not on the list" {
			t.Errorf("err %+v", e)
		}
		p.expectEnd()
		if c := w.store.calls(ipc.LinkDown.Name); c != nil {
			t.Errorf("a link that never was is down: %v", c)
		}
	})
}

func TestStrangers(t *testing.T) {
	for name, tt := range map[string]struct {
		write string
		code  wire.Code
	}{
		"text":             {"hello\n", wire.BadFrame},
		"array":            {"[]\n", wire.BadFrame},
		"message":          {`{"t":"msg","id":"m"}` + "\n", wire.BadFrame},
		"version":          {`{"t":"hello","v":99}` + "\n", wire.BadVersion},
		"own key":          {`{"t":"hello","key":"` + identity(1).Key.String() + `"}` + "\n", wire.AuthFailed},
		"too long":         {strings.Repeat("x", wire.MaxLine+1), wire.TooLarge},
		"too long, and on": {strings.Repeat("x", 3*wire.MaxLine) + "\n" + `{"t":"ping"}` + "\n", wire.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config.Settings{}, func(w *world) {
				p := w.connect(identity(2))
				p.expect(wire.TypeHello)
				p.nc.Write([]byte(tt.write)) //nolint:errcheck // awp-wire may close before the end
				e, _ := wire.Decode[wire.Err]([]byte(p.expect(wire.TypeErr)))
				if e.Code != tt.code {
					t.Errorf("err %s, want %s", e.Code, tt.code)
				}
				began := time.Now()
				p.expectEnd()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("closed after %v", took)
				}
				if c := w.store.calls(ipc.LinkAdmit.Name, ipc.IdentitySign.Name); c != nil {
					t.Errorf("store was asked %v", c)
				}
			})
		})
	}
}

func TestSilentStranger(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		began := time.Now()
		p := w.connect(identity(2))
		p.expect(wire.TypeHello)
		p.expectEnd()
		if took := time.Since(began); took != wire.HandshakeTimeout {
			t.Errorf("closed after %v", took)
		}
	})
}

// Strangers who say nothing cannot keep out who does: the one that was there longest goes.
func TestTooManyStrangers(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		var silent []*rawPeer
		for range maxHandshakes + 10 {
			silent = append(silent, w.connect(identity(2)))
			synctest.Wait()
		}
		p := w.connect(identity(3))
		p.greet()
		p.expect(wire.TypeResume)
		for i, s := range silent {
			s.expect(wire.TypeHello)
			if i < 11 {
				s.expectEnd()
			}
			s.nc.Close()
		}
	})
}

func TestResumeThatNeverComes(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.greet()
		p.expect(wire.TypeResume)
		time.Sleep(wire.ResumeTimeout - time.Second)
		synctest.Wait()
		if c := w.store.calls(ipc.LinkResume.Name); c != nil {
			t.Fatalf("replay began early: %v", c)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := w.store.calls(ipc.LinkResume.Name); len(c) != 1 || c[0].lines != nil {
			t.Fatalf("resume: %v", c)
		}
	})
}

// A store that answers too late has a link that nobody carries: it is told.
func TestAdmissionThatComesLate(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.admit = func(ipc.AdmitParams) (ipc.AdmitResult, bool) {
			time.Sleep(wire.HandshakeTimeout + time.Second)
			return ipc.AdmitResult{}, true
		}
		p := w.connect(identity(2))
		p.greet()
		p.expectEnd()
		synctest.Wait()
		if got := w.store.story(); !strings.HasSuffix(got, "link.admit link.down") {
			t.Errorf("store heard %s", got)
		}
	})
}
