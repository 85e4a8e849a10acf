package ipc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
)

// Ends of connections. What a caller learns decides whether it asks again.

func TestCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := NewConn(t.Context(), here, nil)
		const notes = 1000
		for range notes {
			if err := noteNote.Send(c, text{strings.Repeat("x", 1000)}); err != nil {
				t.Fatal(err)
			}
		}
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		synctest.Wait()
		if err := noteNote.Send(c, text{"late"}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("send while closing: %v, want net.ErrClosed", err)
		}
		got, err := io.ReadAll(there)
		if n := bytes.Count(got, []byte("\n")); n != notes || err != nil {
			t.Errorf("%d of %d notes came, %v", n, notes, err)
		}
		<-closed
		if cause := context.Cause(c.Context()); !errors.Is(cause, net.ErrClosed) {
			t.Errorf("the context ended with %v, want net.ErrClosed", cause)
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		c := NewConn(t.Context(), here, nil)
		noteNote.Send(c, text{"nobody reads this"}) //nolint:errcheck // queued
		began := time.Now()
		c.Close()
		if took := time.Since(began); took != closeWithin {
			t.Errorf("Close took %v, want %v", took, closeWithin)
		}
	})
}

// A handler may close its connection: the reading goroutine, which runs it, then ends.
func TestCloseInHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer()
		HandleInline(s, echoMethod.Name, func(r *Request) {
			r.Reply(text{"last words"})
			r.Conn.Close()
		})
		c := pair(t, s)
		got, err := echoMethod.Call(t.Context(), c, text{})
		if err != nil || got.Text != "last words" {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := echoMethod.Call(t.Context(), c, text{}); !Lost(err) {
			t.Errorf("the next call: %v, want Lost", err)
		}
	})
}

func TestFailEndsEveryCall(t *testing.T) {
	for name, tt := range map[string]struct {
		cause error
		lost  bool
	}{
		"a reason of its own": {errTest, true},
		"end of stream":       {io.EOF, true},
		"slow":                {ErrSlow, true},
		"a code":              {&awp.Error{Code: awp.Skew, Message: "of another release"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pair(t, blockingServer(nil))
				const callers = 20
				ended := make(chan error)
				for range callers {
					go func() { _, err := blockMethod.Call(t.Context(), c, None{}); ended <- err }()
				}
				synctest.Wait()
				c.Fail(tt.cause)
				for range callers {
					if err := <-ended; Lost(err) != tt.lost || !errors.Is(err, tt.cause) {
						t.Errorf("a call ended with %v, Lost %v", err, Lost(err))
					}
				}
				if _, err := echoMethod.Call(t.Context(), c, text{}); !errors.Is(err, tt.cause) {
					t.Errorf("a later call: %v", err)
				}
			})
		})
	}
}

// What was read together with the line whose handler failed the connection is not handled.
func TestFailStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		handled := 0
		c := NewConn(t.Context(), there, func(r *Request) {
			handled++
			r.Conn.Fail(errTest)
		})
		go io.WriteString(here, strings.Repeat(`{"jsonrpc":"2.0","ipc":3,"method":"note"}`+"\n", 3)) //nolint:errcheck // cut
		if err := c.Run(); err != errTest || handled != 1 {
			t.Errorf("Run: %v, %d lines handled, want 1", err, handled)
		}
	})
}

func TestLostWhenTheServerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := NewConn(t.Context(), here, nil)
		go c.Run() //nolint:errcheck // the call says it
		go func() {
			bufio.NewReader(there).ReadSlice('\n') //nolint:errcheck // the request
			there.Close()
		}()
		_, err := echoMethod.Call(t.Context(), c, text{})
		if !Lost(err) || !errors.Is(err, io.EOF) || awp.CodeOf(err) != awp.Internal {
			t.Errorf("got %v, want Lost for io.EOF", err)
		}
	})
}

func TestContextEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := pair(t, blockingServer(release))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errTest)
		defer cancel()
		if _, err := blockMethod.Call(ctx, c, None{}); err != errTest {
			t.Errorf("got %v, want the context's cause", err)
		}
		close(release) // the late answer goes nowhere, and harms nobody
		if got, err := echoMethod.Call(t.Context(), c, text{"hi"}); err != nil || got.Text != "hi" {
			t.Errorf("the next call: %v, %v", got, err)
		}
	})
}

// One context often bounds both the connection and the calls on it. Who ends it is not
// told that the connection was lost, whichever end is seen first.
func TestContextOfBoth(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			here, there := net.Pipe()
			defer there.Close()
			c := NewConn(ctx, here, nil)
			go c.Run()           //nolint:errcheck // the call says it
			go io.ReadAll(there) //nolint:errcheck // never answers
			ended := make(chan error)
			go func() { _, err := echoMethod.Call(ctx, c, text{}); ended <- err }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != context.Canceled {
				t.Errorf("got %v, want context.Canceled", err)
			}
		})
	}
}

// A connection that is given up before it is read leaves nothing behind once its context
// ends; the bubble waits for its goroutines.
func TestContextEndsAnUnreadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		here, there := net.Pipe()
		c := NewConn(ctx, here, nil)
		cancel()
		<-c.done
		if _, err := there.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the other side reads %v, want io.EOF", err)
		}
		if err := noteNote.Send(c, text{}); err != context.Canceled {
			t.Errorf("send: %v, want context.Canceled", err)
		}
	})
}

// A client of this release that meets a server of another tells so, whatever it asked.
func TestSkewSeenByTheClient(t *testing.T) {
	for name, answer := range map[string]string{
		"version missing": `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"version unequal": `{"jsonrpc":"2.0","ipc":2,"id":1,"result":{}}`,
		"refused":         `{"jsonrpc":"2.0","ipc":3,"id":1,"error":{"code":-32000,"message":"skew","data":{"code":"skew","hint":"restart"}}}`,
		"item first":      `{"jsonrpc":"2.0","method":"item","params":{"id":1,"item":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				c := NewConn(t.Context(), here, nil)
				go c.Run() //nolint:errcheck // the call says it
				go func() {
					bufio.NewReader(there).ReadSlice('\n') //nolint:errcheck // the request
					io.WriteString(there, answer+"\n")     //nolint:errcheck // the call says it
				}()
				_, err := countStream.Call(t.Context(), c, count{}, func(count) error { return nil })
				if awp.CodeOf(err) != awp.Skew || awp.HintOf(err) == "" || Lost(err) {
					t.Errorf("got %v, code %s, hint %q", err, awp.CodeOf(err), awp.HintOf(err))
				}
				c.Close()
			})
		})
	}
}
