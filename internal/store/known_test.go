package store

import (
	"context"
	"testing"

	"github.com/awp-suite/awp/wire"
)

// A peer is known once the home did something about it, and not for what it did itself.
func TestKnown(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("t", "hello"))
	if a := p.connect("ann"); a.Known {
		t.Error("known for its own message")
	}
	q := h.stranger("bob")
	if _, err := h.store.SetAlias(context.Background(), "bob", "b"); err != nil {
		t.Fatal(err)
	}
	if a := q.connect("bob"); !a.Known {
		t.Error("not known by its alias")
	}
	if _, err := h.store.Send(context.Background(), Message{Token: "1", Who: "ann", Parts: []Part{{Kind: wire.PartText, Text: "x"}}}); err != nil {
		t.Fatal(err)
	}
	if a := p.connect("ann"); !a.Known {
		t.Error("not known though written to")
	}
}
