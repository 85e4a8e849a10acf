package suite

import (
	"strings"
	"testing"
)

// Our own peer passes every scenario of what it offers, over each transport, called and calling.
func TestConform(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, set := range map[string]settings{"unix": nil, "tcp": {"listen": tcpAddr()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "target", set)
			h.ok("up")
			send := bin + "/awp send --home " + h.dir + " {key} '{text}'"
			if r := h.awp("conform", "--send", send, h.addr); r.exit != 0 {
				t.Fatal(r)
			}
		})
	}
	t.Run("listen", func(t *testing.T) {
		t.Parallel()
		h := newHome(t, "target", nil)
		h.ok("up")
		r := h.awp("conform", "--listen", tcpAddr(), "--run", bin+"/awp connect --home "+h.dir+" {addr}")
		if r.exit != 0 || !strings.Contains(r.out, "pass  dedup ") {
			t.Fatal(r)
		}
	})
}
