package ipc

import (
	"bytes"
	"encoding/json/jsontext"
	"strconv"
)

// itemMethod names the notifications of a stream.
const itemMethod = "item"

// item is the parameters of one.
type item struct {
	ID   uint64         `json:"id"`
	Item jsontext.Value `json:"item"`
}

// itemParams spells an item. raw is compact JSON: json.Marshal, which would say the same,
// would read it all once more to be sure.
func itemParams(id uint64, raw []byte) jsontext.Value {
	b := make([]byte, 0, len(raw)+len(`{"id":18446744073709551615,"item":}`))
	b = strconv.AppendUint(append(b, `{"id":`...), id, 10)
	return append(append(append(b, `,"item":`...), raw...), '}')
}

var (
	itemHead = []byte(`{"jsonrpc":"2.0","method":"item","params":{"id":`)
	itemMid  = []byte(`,"item":`)
	itemTail = []byte(`}}`)
)

// cutItem takes the item out of a line of the very shape that [Request.Item] gives it;
// others are for decodeMessage. What stands for the item may be anything: whoever decodes
// it will see, and to look here, too, would be to read long lists three times.
func cutItem(line []byte) (it item, ok bool) {
	rest, ok := bytes.CutPrefix(line, itemHead)
	if !ok {
		return it, false
	}
	digits, rest, ok := bytes.Cut(rest, itemMid)
	if !ok {
		return it, false
	}
	id, err := strconv.ParseUint(string(digits), 10, 64)
	raw, ok := bytes.CutSuffix(rest, itemTail)
	if err != nil || !ok {
		return it, false
	}
	return item{ID: id, Item: raw}, true
}

// deliver hands an item to the call that it is for. The item is valid only as long.
func (c *Conn) deliver(it item) {
	c.mu.Lock()
	waiting := c.calls[it.ID]
	c.mu.Unlock()
	if waiting == nil { // its caller gave up
		return
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	if waiting.item != nil {
		waiting.item(it.Item)
	}
}
