package ipc

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awp-suite/awp"
)

// What does not fit, and what is said about it.

// The very first answer is too large: the error that replaces it is then the first line,
// and has to carry the version.
func TestTooLargeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer()
		Handle(s, echoMethod, func(context.Context, text) (text, error) {
			return text{strings.Repeat("x", MaxLine)}, nil
		})
		if _, err := echoMethod.Call(t.Context(), pair(t, s), text{}); awp.CodeOf(err) != awp.TooLarge {
			t.Errorf("got %v, want code too_large", err)
		}
	})
}

func TestTooLargeItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := Stream[None, text, None]{"words"}
		s := NewServer()
		HandleStream(s, words, func(_ context.Context, _ None, send func(text) error) (None, error) {
			return None{}, send(text{strings.Repeat("x", MaxLine)})
		})
		_, err := words.Call(t.Context(), pair(t, s), None{}, func(text) error { return nil })
		if awp.CodeOf(err) != awp.TooLarge {
			t.Errorf("got %v, want code too_large", err)
		}
	})
}

func TestTooLargeRequest(t *testing.T) {
	many := make([][]byte, maxLines+1)
	big := make([]byte, MaxLine)
	for name, tt := range map[string]struct {
		params string
		lines  [][]byte
		code   awp.Code
	}{
		"parameters": {strings.Repeat("x", MaxLine), nil, awp.TooLarge},
		"lines":      {"", many, awp.TooLarge},
		"one line":   {"", [][]byte{append(big, 'x')}, awp.TooLarge},
		"all lines":  {"", [][]byte{big, big, big, big, {'x'}}, awp.TooLarge},
		"newline":    {"", [][]byte{[]byte("one\ntwo")}, awp.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pair(t, scriptedServer())
				if _, err := echoMethod.Call(t.Context(), c, text{tt.params}, tt.lines...); awp.CodeOf(err) != tt.code || Lost(err) {
					t.Errorf("call: %v, want code %s", err, tt.code)
				}
				if _, err := echoMethod.Call(t.Context(), c, text{}); err != nil {
					t.Errorf("the connection is of no further use: %v", err)
				}
				// A notification that is missing would go unnoticed, so the connection ends.
				if err := noteNote.Send(c, text{tt.params}, tt.lines...); awp.CodeOf(err) != tt.code {
					t.Errorf("send: %v, want code %s", err, tt.code)
				}
				if cause := context.Cause(c.Context()); awp.CodeOf(cause) != tt.code {
					t.Errorf("the connection ended with %v", cause)
				}
			})
		})
	}
}

// A receiver believes no sender: raw lines that fit one by one must fit together.
func TestTooLargeRawLinesReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := NewConn(t.Context(), there, func(*Request) { t.Error("handled") })
		go func() {
			line := strings.Repeat("x", MaxLine) + "\n"
			io.WriteString(here, `{"jsonrpc":"2.0","ipc":3,"method":"raw","lines":5}`+"\n"+strings.Repeat(line, 5)) //nolint:errcheck // cut
		}()
		if err := c.Run(); err == nil || !strings.Contains(err.Error(), "raw lines") {
			t.Errorf("Run: %v", err)
		}
	})
}

// A caller that is not answered waits forever, so whatever the error is, it is sent.
func TestEveryErrorIsAnswered(t *testing.T) {
	for name, failure := range map[string]error{
		"bytes that are no text": errors.New("open /home/\xff\xfe: no such file"),
		"a hint of such bytes":   &awp.Error{Code: awp.Invalid, Message: "no", Hint: "\xff"},
		"very long":              errors.New(strings.Repeat("long ", MaxLine)),
		"cut inside a character": errors.New(strings.Repeat("ä", maxSentence)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer()
				Handle(s, failMethod, func(context.Context, None) (None, error) { return None{}, failure })
				_, err := failMethod.Call(t.Context(), pair(t, s), None{})
				if awp.CodeOf(err) != awp.CodeOf(failure) || Lost(err) || len(err.Error()) > 2*maxSentence {
					t.Errorf("got %.60q, code %s", err, awp.CodeOf(err))
				}
			})
		})
	}
}

func TestErrSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close() // never read
		c := NewConn(t.Context(), here, nil)
		note := text{strings.Repeat("x", 1<<20)}
		var err error
		sent := 0
		for ; err == nil && sent < 100; sent++ {
			err = noteNote.Send(c, note)
			if sent == 0 {
				synctest.Wait() // the writing goroutine took the first, and is stuck with it
			}
		}
		if err != ErrSlow || sent < maxPending>>20 || sent > maxPending>>20+2 {
			t.Errorf("%v after %d MiB, want ErrSlow after %d", err, sent, maxPending>>20)
		}
		<-c.done // it ends by itself: nobody calls Run here
		if cause := context.Cause(c.Context()); cause != ErrSlow {
			t.Errorf("the connection ended with %v", cause)
		}
		if err := noteNote.Send(c, note); err != ErrSlow {
			t.Errorf("send afterwards: %v", err)
		}
	})
}

// A stream whose reader stops is held back, costs a bounded number of bytes meanwhile,
// and loses nothing.
func TestSlowStreamReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items, size = 10000, 1 << 10
		words := Stream[None, text, None]{"words"}
		sent := 0 // read only while the stream is held back
		s := NewServer()
		HandleStream(s, words, func(_ context.Context, _ None, send func(text) error) (None, error) {
			for sent = range items {
				if err := send(text{fmt.Sprintf("%0*d", size, sent)}); err != nil {
					return None{}, err
				}
			}
			return None{}, nil
		})
		c := pair(t, s)
		gate, ended := make(chan struct{}), make(chan error)
		got := 0
		go func() {
			_, err := words.Call(t.Context(), c, None{}, func(w text) error {
				<-gate
				if want := fmt.Sprintf("%0*d", size, got); w.Text != want {
					t.Errorf("item %d is %.20s…", got, strings.TrimLeft(w.Text, "0"))
				}
				got++
				return nil
			})
			ended <- err
		}()
		for range 3 { // it stops, reads some, stops again
			synctest.Wait()
			if waiting := (sent - got) * size; waiting > 3*maxStreamed || waiting < maxStreamed/2 {
				t.Errorf("%d bytes of items wait while nobody reads, bound %d", waiting, maxStreamed)
			}
			for range 1000 {
				gate <- struct{}{}
			}
		}
		close(gate)
		if err := <-ended; err != nil || got != items {
			t.Errorf("%d of %d items, %v", got, items, err)
		}
	})
}

// Many streams of one connection share its bound: together they exceed it by one item,
// where each by one would end a connection whose other side did nothing wrong.
func TestManySlowStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := NewConn(t.Context(), here, nil)
		big := message{Method: itemMethod, Params: jsontext.Value(`"` + strings.Repeat("x", MaxLine-100) + `"`)}
		var streams sync.WaitGroup
		for range maxRunning {
			streams.Go(func() {
				if err := c.sendHeld(big, maxStreamed); err != nil {
					t.Errorf("item: %v", err)
				}
			})
		}
		synctest.Wait()
		c.mu.Lock()
		if n := len(c.pending); n > maxStreamed+MaxLine {
			t.Errorf("%d bytes wait", n)
		}
		c.mu.Unlock()
		go io.Copy(io.Discard, there) //nolint:errcheck // ends with the connection
		streams.Wait()
		c.Close()
	})
}

// Once Call has returned, its function does not run: what the function writes to is the
// caller's again. The race detector looks at got.
func TestNoItemAfterReturn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var got []count
			_, err := countStream.Call(ctx, pair(t, scriptedServer()), count{50}, func(n count) error {
				if got = append(got, n); n.N == 5 {
					go cancel()
				}
				return nil
			})
			before := len(got)
			synctest.Wait()
			if len(got) != before || (err != nil && err != context.Canceled) {
				t.Errorf("%d items, then %d, %v", before, len(got), err)
			}
		})
	}
}

// An error of the caller's own function is its own, not a lost connection: who would
// repeat a lost call must not repeat this one.
func TestStreamStoppedByItsFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pair(t, scriptedServer())
		calls := 0
		_, err := countStream.Call(t.Context(), c, count{50}, func(count) error { calls++; return errTest })
		if err != errTest || calls != 1 || Lost(err) {
			t.Errorf("got %v after %d items", err, calls)
		}
		if _, err := echoMethod.Call(t.Context(), c, text{}); !Lost(err) {
			t.Errorf("the connection lives on: %v", err)
		}
	})
}

func TestLostInAChain(t *testing.T) {
	err := fmt.Errorf("send: %w", lost(io.EOF))
	if !Lost(err) || Lost(io.EOF) || Lost(nil) {
		t.Error("Lost looks at the whole chain, and at nothing else")
	}
}
