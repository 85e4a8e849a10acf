package ipc

import (
	"bytes"
	"encoding/json/v2"
	"testing"
)

// The short cut finds in a line what the general way finds.
func TestCutItem(t *testing.T) {
	for _, raw := range []string{`1`, `null`, `{"a":[{}]}`, `"}}"`, `{"item":{"id":2}}`, `[[],{}]`} {
		line, err := appendHead(nil, message{Method: itemMethod, Params: itemParams(7, []byte(raw))})
		if err != nil {
			t.Fatal(err)
		}
		m, err := decodeMessage(line)
		if err != nil {
			t.Fatal(err)
		}
		var want item
		if err := json.Unmarshal(m.Params, &want); err != nil {
			t.Fatal(err)
		}
		got, ok := cutItem(line)
		if !ok || got.ID != want.ID || !bytes.Equal(got.Item, want.Item) {
			t.Errorf("%s: cut %v %d %s, want %d %s", line, ok, got.ID, got.Item, want.ID, want.Item)
		}
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","ipc":3,"method":"item","params":{"id":7,"item":1}}`,
		`{"jsonrpc":"2.0","method":"item","params":{"id":7,"item":1},"lines":1}`,
		`{"jsonrpc":"2.0","method":"item","params":{"id":-7,"item":1}}`,
		`{"jsonrpc":"2.0","method":"item","params":{"item":1,"id":7}}`,
		`{"jsonrpc":"2.0","method":"ready","params":{"id":7,"item":1}}`,
		``,
	} {
		if it, ok := cutItem([]byte(line)); ok {
			t.Errorf("%s: cut to %d %s", line, it.ID, it.Item)
		}
	}
}
