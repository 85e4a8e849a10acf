package ipc

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/awp-suite/awp"
)

var update = flag.Bool("update", false, "rewrite testdata from what the server says")

// Each file of testdata is a conversation with the server of scriptedServer, and reads as
// a page of the protocol's handbook: why, what the client sends, what the server answers.
// A section "end" says why the server hung up; without it, the client did. In the
// client's lines <x*9> stands for nine times x.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(archive)
			var got []byte
			synctest.Test(t, func(t *testing.T) { got = txtar.Format(play(archive)) })
			switch {
			case *update:
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			case !bytes.Equal(got, want):
				t.Errorf("the conversation was\n%s\nwant (-update accepts it)\n%s", got, want)
			case len(bytes.TrimSpace(archive.Comment)) == 0:
				t.Error("the file does not say why it is there")
			}
		})
	}
}

// play sends what the client says and returns the conversation as it went. It runs in a
// bubble: once every goroutine waits, the server has said all it had to say.
func play(script *txtar.Archive) *txtar.Archive {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		c := NewConn(ctx, there, scriptedServer().dispatch)
		c.running = make(chan struct{}, maxRunning)
		ended <- c.Run()
		c.tasks.Wait()
	}()
	var heard recorder
	go io.Copy(&heard, here) //nolint:errcheck // ends with here

	went := &txtar.Archive{Comment: script.Comment}
	add := func(who string, data []byte) {
		if len(data) > 0 {
			went.Files = append(went.Files, txtar.File{Name: who, Data: data})
		}
	}
	for _, f := range script.Files {
		if f.Name != "client" {
			continue
		}
		add("client", f.Data)
		go here.Write(spelledOut(f.Data)) //nolint:errcheck // the server may hang up first
		synctest.Wait()
		add("server", heard.take())
	}
	here.Close()
	synctest.Wait()
	if err := <-ended; err != io.EOF {
		add("end", []byte(err.Error()+"\n"))
	}
	return went
}

var repeated = regexp.MustCompile(`<(.)\*(\d+)>`)

func spelledOut(line []byte) []byte {
	return repeated.ReplaceAllFunc(line, func(token []byte) []byte {
		m := repeated.FindSubmatch(token)
		n, _ := strconv.Atoi(string(m[2]))
		return bytes.Repeat(m[1], n)
	})
}

// recorder keeps what was heard until somebody takes it.
type recorder struct {
	mu  sync.Mutex
	buf []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p...)
	return len(p), nil
}

func (r *recorder) take() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := r.buf
	r.buf = nil
	return heard
}

// The methods of the scripted server.
type (
	text struct {
		Text string `json:"text"`
	}
	keyed struct {
		Key awp.Key `json:"key"`
	}
	count struct {
		N int `json:"n"`
	}
)

var (
	echoMethod  = Method[text, text]{"echo"}
	keyMethod   = Method[keyed, keyed]{"key"}
	failMethod  = Method[None, None]{"fail"}
	countStream = Stream[count, count, text]{"count"}
	rawMethod   = Method[None, []int]{"raw.lengths"}
	rawBack     = Method[None, None]{"raw.back"}
	rawNote     = Note[None]{"raw"}
	noteNote    = Note[text]{"note"}
	notedMethod = Method[None, []text]{"noted"}
	takeMethod  = Method[None, None]{"take"}
)

func scriptedServer() *Server {
	s := NewServer()
	Handle(s, echoMethod, func(_ context.Context, p text) (text, error) { return p, nil })
	Handle(s, keyMethod, func(_ context.Context, p keyed) (keyed, error) { return p, nil })
	Handle(s, failMethod, func(context.Context, None) (None, error) {
		return None{}, fmt.Errorf("look: %w", errNobody)
	})
	HandleStream(s, countStream, func(_ context.Context, p count, send func(count) error) (text, error) {
		for i := range p.N {
			if err := send(count{i + 1}); err != nil {
				return text{}, err
			}
		}
		return text{"counted"}, nil
	})
	HandleInline(s, rawMethod.Name, func(r *Request) {
		lengths := []int{}
		for _, line := range r.Lines {
			lengths = append(lengths, len(line))
		}
		r.Reply(lengths)
	})
	HandleInline(s, rawBack.Name, func(r *Request) {
		if err := rawNote.Send(r.Conn, None{}, r.Lines...); err != nil {
			r.Fail(err)
			return
		}
		r.Reply(None{})
	})
	noted := []text{} // by one connection's reading goroutine only
	HandleInline(s, noteNote.Name, func(r *Request) {
		var p text
		if err := r.Decode(&p); err == nil {
			noted = append(noted, p)
		}
		r.Reply(None{})
	})
	HandleInline(s, notedMethod.Name, func(r *Request) { r.Reply(noted) })
	HandleInline(s, takeMethod.Name, func(r *Request) {
		r.Take(func(r *Request) { r.Fail(errors.New("taken: " + r.Method)) })
		r.Reply(None{})
	})
	return s
}
