package wire

import (
	"strings"
	"testing"
)

func TestTooManyParts(t *testing.T) {
	msg := func(n int) []byte {
		return []byte(`{"t":"msg","id":"1","th":"t","x":{"parts":[]},"parts":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}`)
	}
	for n, ok := range map[int]bool{0: true, 1: true, MaxParts: true, MaxParts + 1: false, 300000: false} {
		if _, err := Decode[Msg](msg(n)); (err == nil) != ok {
			t.Errorf("%d parts: %v", n, err)
		}
	}
	long := `{"t":"msg","id":"1","th":"t","subject":"` + strings.Repeat("x", 5000) + `","parts":[{"k":"text","text":"hi"}]}`
	if m, err := Decode[Msg]([]byte(long)); err != nil || len(m.Parts) != 1 {
		t.Errorf("a long line of one part: %v", err)
	}
}
