package wirecmd

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// A listener that cannot be had is reported and tried again; the others are not waited
// for.
func TestListenerComesLater(t *testing.T) {
	dir, err := os.MkdirTemp("", "awp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sub := filepath.Join(dir, "sub")
	inBubble(t, config.Settings{Listen: []string{"unix:" + sub + "/p.sock"}}, func(w *world) {
		ended := make(chan struct{})
		defer func() { <-ended }()
		go func() { w.d.listen(w.ctx); close(ended) }()
		time.Sleep(wire.ListenRetryMin - time.Second)
		c := w.store.calls(ipc.LinkListening.Name)
		if last := c[len(c)-1].params; !strings.Contains(last, "does not exist") || w.d.advertised() != "" {
			t.Errorf("reported %s, advertised %q", last, w.d.advertised())
		}
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		// The listener waits in the kernel now, which a bubble cannot see.
		for w.d.advertised() == "" {
			runtime.Gosched()
		}
		w.stop()
	})
}

func TestAdvertised(t *testing.T) {
	for _, tt := range []struct {
		set    string
		places []place
		want   string
	}{
		{"", nil, ""},
		{"", []place{{addr: "tcp:0.0.0.0:7", bound: true, wildcard: true}, {addr: "unix:/a"}, {addr: "unix:/b", bound: true}}, "unix:/b"},
		{config.None, []place{{addr: "unix:/b", bound: true}}, ""},
		{"tcp:me:7", []place{{addr: "unix:/b", bound: true}}, "tcp:me:7"},
	} {
		d := newDaemon(Config{Settings: config.Settings{Advertise: tt.set}})
		d.board.places = tt.places
		if got := d.advertised(); got != tt.want {
			t.Errorf("%q with %v: %q, want %q", tt.set, tt.places, got, tt.want)
		}
	}
}
