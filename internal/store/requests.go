package store

import (
	"database/sql"
	"encoding/json/v2"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// maxForbidden bounds the err lines that answer one message, whatever number of requests
// it makes. Each request is marked all the same.
const maxForbidden = 32

// request is what is noted about a part of a message that asks to use a capability. The
// mark stands: what becomes of the grant later does not change it (PROTOCOL.md section 13).
type request struct {
	Part    int    `json:"part"`
	Mime    string `json:"mime"`
	Cap     string `json:"cap"`
	Allowed bool   `json:"allowed"`
	Served  bool   `json:"served,omitzero"`
}

// requested is the meta of a message that makes requests.
type requested struct {
	Requests []request `json:"requests"`
}

// requests judges each request of a message by itself (PROTOCOL.md section 17). Most
// messages make none, and cost nothing.
func (t *tx) requests(p *peerRow, m wire.Msg) (list []request, err error) {
	var book *grant.Book
	for i, part := range m.Parts {
		capability, mime := grant.Request(part)
		if capability == "" {
			continue
		}
		if book == nil {
			if book, err = t.book(p.key); err != nil {
				return nil, err
			}
		}
		list = append(list, request{Part: i, Mime: mime, Cap: capability, Allowed: book.May(p.key, capability, t.now)})
	}
	return list, nil
}

// meta returns what is logged with a message.
func (r requested) meta() (string, error) {
	if len(r.Requests) == 0 {
		return "", nil
	}
	text, err := json.Marshal(r)
	return string(text), err
}

// forbid tells the peer of each request that it holds no grant for. It goes out behind the
// message's ack, which says only that the message was received.
func (t *tx) forbid(l *link, id awp.MessageID, list []request) error {
	told := 0
	for _, r := range list {
		if r.Allowed || told == maxForbidden {
			continue
		}
		told++
		line, err := wire.Encode(wire.NewErr(t.nextID(), t.stamp(), id, wire.Forbidden, "no grant for "+r.Cap, ""))
		if err != nil {
			return err
		}
		t.acks[l] = append(t.acks[l], line)
	}
	return nil
}

// requestsOf returns how the requests of a message that came before were judged. It is
// sent again because its sender does not know what became of it.
func (t *tx) requestsOf(p *peerRow, id awp.MessageID) ([]request, error) {
	var meta sql.NullString
	err := t.row("SELECT meta FROM line WHERE peer = ? AND dir = ? AND id = ?", p.n, dirIn, string(id)).Scan(&meta)
	if err != nil || !meta.Valid {
		return nil, err
	}
	var r requested
	err = json.Unmarshal([]byte(meta.String), &r)
	return r.Requests, err
}
