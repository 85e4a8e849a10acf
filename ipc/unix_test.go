package ipc

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"testing"
)

// The other tests talk over pipes, which take a line only when it is read. A socket takes
// what its buffer holds, so that lines go out in parts: none may be lost, doubled, or
// overtake another.
func TestOrderOverASocket(t *testing.T) {
	l := listen(t, shortDir(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	here, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	const notes = 2000
	size := func(i int) int { return i * 7919 % 40000 } // 40 MB in all, over any buffer

	read := make(chan struct{}) // closed once the receiver may read
	got := 0
	receiver := NewConn(ctx, there, func(r *Request) {
		var p text
		if err := r.Decode(&p); err != nil || p.Text != strconv.Itoa(got) {
			t.Errorf("note %d says %q, %v", got, p.Text, err)
		}
		if len(r.Lines) != 1 || !bytes.Equal(r.Lines[0], bytes.Repeat([]byte{'a' + byte(got%26)}, size(got))) {
			t.Errorf("note %d came with another line", got)
		}
		got++
	})
	ended := make(chan error)
	go func() { <-read; ended <- receiver.Run() }()

	sender := NewConn(ctx, here, nil)
	for i := range notes {
		if i == notes/2 {
			close(read) // the first half has filled the socket; the second races the reader
		}
		line := bytes.Repeat([]byte{'a' + byte(i%26)}, size(i))
		if err := noteNote.Send(sender, text{strconv.Itoa(i)}, line); err != nil {
			t.Fatal(err)
		}
	}
	sender.Close()
	if err := <-ended; got != notes {
		t.Errorf("%d of %d notes came, %v", got, notes, err)
	}
}
