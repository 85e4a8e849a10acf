package wire

import "testing"

func TestReliableAndAcked(t *testing.T) {
	for _, tt := range []struct {
		typ                        string
		reliable, withoutTh, acked bool
	}{
		{TypeMsg, true, true, true},
		{TypeState, true, true, true},
		{TypeMirror, true, true, true},
		{TypePrivate, true, true, true},
		{TypeChunk, true, true, false},
		{TypeIntroduce, true, false, false},
		{TypeHello, false, false, false},
		{TypeAuth, false, false, false},
		{TypeResume, false, false, false},
		{TypeAck, false, false, false},
		{TypePing, false, false, false},
		{TypePong, false, false, false},
		{TypeBye, false, false, false},
		{TypeErr, false, false, false},
		{TypeGrant, false, false, false},
		{TypePresence, false, false, false},
		{"future", false, false, false},
	} {
		if got := Reliable(tt.typ, true); got != tt.reliable {
			t.Errorf("Reliable(%s, true) = %v", tt.typ, got)
		}
		if got := Reliable(tt.typ, false); got != tt.withoutTh {
			t.Errorf("Reliable(%s, false) = %v", tt.typ, got)
		}
		if got := Acked(tt.typ); got != tt.acked {
			t.Errorf("Acked(%s) = %v", tt.typ, got)
		}
	}
}

func TestCloses(t *testing.T) {
	for code, want := range map[Code]bool{
		BadFrame: true, BadVersion: true, AuthFailed: true, TooLarge: true,
		Unsupported: false, Forbidden: false, BlobRefused: false, Internal: false, "future": false, "": false,
	} {
		if got := code.Closes(); got != want {
			t.Errorf("%s closes: %v", code, got)
		}
	}
}

func TestCaps(t *testing.T) {
	caps := Caps()
	caps[0] = "changed"
	if Caps()[0] != CapChat {
		t.Error("callers share one slice")
	}
}
