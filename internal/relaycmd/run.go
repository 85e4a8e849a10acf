package relaycmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"tailscale.com/derp/derpserver"
	"tailscale.com/types/key"
)

// Bounds of what strangers may ask for.
const (
	maxConns      = 4096             // TLS connections at a time; a home has one, and one a dial
	headerTimeout = 10 * time.Second // from the first byte to the end of a request's header
	maxHeader     = 16 << 10         // bytes
)

// Run is the relay until ctx ends. Once both of its sockets are bound it writes to out
// what the homes need to know.
func Run(ctx context.Context, cfg Config, out io.Writer, log *slog.Logger) error {
	cert, pin, err := certificate(cfg.State, cfg.Host, time.Now())
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return cannotBind("--listen", cfg.Listen, err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", cfg.STUN)
	if err != nil {
		return cannotBind("--stun", cfg.STUN, err)
	}
	defer udp.Close()
	if err := announce(out, cfg, pin); err != nil {
		return err
	}
	log.Info("relay serves", "port", cfg.port(cfg.Listen), "stun_port", cfg.port(cfg.STUN))

	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	relay := derpserver.New(key.NewNode(), func(format string, args ...any) {
		log.Debug("derp", "text", fmt.Sprintf(format, args...))
	})
	defer relay.Close()
	web := &http.Server{
		Handler:           derpserver.Handler(relay),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // DERP takes HTTP/1.1 connections over
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // handshakes of strangers
	}
	ends := make(chan error, 2)
	tasks.Go(func() { ends <- web.ServeTLS(limit(tcp, maxConns), "", "") })
	tasks.Go(func() { ends <- answerSTUN(udp) })
	defer web.Close()
	defer udp.Close()
	select {
	case <-ctx.Done():
		log.Info("relay closing")
		return nil
	case err := <-ends:
		if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		return fmt.Errorf("serve: %w", err)
	}
}

func cannotBind(flag, addr string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if sys, ok := errors.AsType[*os.SyscallError](err); ok {
		err = sys.Err
	}
	return &awp.Error{
		Code:    awp.Invalid,
		Message: fmt.Sprintf("cannot listen on %s: %v", addr, err),
		Hint:    "choose another port with " + flag + "; the addresses of homes name it",
		Cause:   err,
	}
}

// limit is l with at most n connections at a time; more wait in the kernel's queue.
func limit(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, n)}
}

type limited struct {
	net.Listener
	slots chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	l.slots <- struct{}{}
	nc, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &counted{Conn: nc, done: sync.OnceFunc(func() { <-l.slots })}, nil
}

type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
