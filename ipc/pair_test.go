package ipc

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/awp-suite/awp"
)

var errNobody = &awp.Error{Code: awp.NotFound, Message: `no peer named "bob"`, Hint: "awp peers lists them"}

var errTest = errors.New("the test says so")

// pair returns both ends of a pipe: a server's, served until the test ends, and a
// client's, which is read until it ends.
func pair(t *testing.T, s *Server) *Conn {
	t.Helper()
	here, there := net.Pipe()
	return attach(t, s, here, there)
}

func attach(t *testing.T, s *Server, here, there net.Conn) *Conn {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		s.serveConn(ctx, there)
	}()
	c := NewConn(ctx, here, nil)
	go func() {
		defer close(read)
		c.Run() //nolint:errcheck // the calls on c say it
	}()
	t.Cleanup(func() {
		cancel()
		<-served
		<-read
	})
	return c
}
