package ipc

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

// seeds calls fn with what each client of testdata says.
func seeds(f *testing.F, fn func([]byte)) {
	f.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			fn(section.Data)
		}
	}
}

// What decodes can be encoded, and says the same again.
func FuzzDecodeMessage(f *testing.F) {
	seeds(f, func(said []byte) {
		for line := range bytes.Lines(said) {
			f.Add(bytes.TrimSuffix(line, []byte("\n")))
		}
	})
	f.Add([]byte(`{"jsonrpc":"2.0","ipc":-1,"id":18446744073709551615,"method":"a\"b\u0000\n","params":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return // no line
		}
		m, err := decodeMessage(line)
		if err != nil {
			return
		}
		encoded, err := appendMessage(nil, m, make([][]byte, m.Lines))
		if err != nil {
			t.Fatalf("encode %+v: %v", m, err)
		}
		head, lines, _ := bytes.Cut(encoded, []byte("\n"))
		if len(lines) != m.Lines {
			t.Fatalf("%q came out of %q, announced %d lines", encoded, line, m.Lines)
		}
		again, err := decodeMessage(head)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%q became %q: %+v, then %+v, %v", line, head, m, again, err)
		}
	})
}

// Whatever a client says, the server ends with it. A bubble whose goroutines wait for
// each other forever panics, and one that leaves a goroutine behind does not end.
func FuzzConn(f *testing.F) {
	seeds(f, func(said []byte) {
		if !bytes.Contains(said, []byte("<x*")) {
			f.Add(said)
		}
	})
	f.Fuzz(func(t *testing.T, said []byte) {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				scriptedServer().serveConn(context.Background(), there)
			}()
			go io.Copy(io.Discard, here) //nolint:errcheck // ends with here
			here.Write(said)             //nolint:errcheck // the server may hang up first
			here.Close()
			<-ended
		})
	})
}
