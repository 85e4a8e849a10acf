package render

import (
	"encoding/json/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"ünïcode 世界 👩‍💻", "ünïcode 世界 👩‍💻"},
		{"a\nb\tc\rd", `a\nb\tc\rd`},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"c1 \u009b31m", `c1 \u009b31m`},
		{"del\x7f", `del\x7f`},
		{"bidi \u202egpj.exe\u2066", `bidi \u202egpj.exe\u2066`},
		{"hid\u200bden\ufeff", `hid\u200bden\ufeff`},
		{"tags \U000e0041\U000e0042", `tags \U000e0041\U000e0042`},
		{"lines \u2028\u2029", `lines \u2028\u2029`},
		{"bad \xff\xc3", `bad \xff\xc3`},
		{"\ufffd stays", "\ufffd stays"},
	} {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestBody(t *testing.T) {
	in, want := "a\r\nb\tc\rd\x07", "a\nb\tc\\rd\\a"
	if got := Body(in); got != want {
		t.Errorf("Body(%q) = %q, want %q", in, got, want)
	}
}

func TestArg(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"thr_9k2abcd", "thr_9k2abcd"},
		{"tcp:10.0.0.5:7000", "tcp:10.0.0.5:7000"},
		{"tcp:[fdaa::3]:7000", "'tcp:[fdaa::3]:7000'"},
		{"two words", "'two words'"},
		{"it's", `'it'\''s'`},
		{"$(rm -rf /)", "'$(rm -rf /)'"},
		{"", "''"},
	} {
		if got := Arg(tt.in); got != tt.want {
			t.Errorf("Arg(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// FuzzText checks that nothing gets past the three, and that JSON keeps its meaning.
func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J\u009b\u202e\U000e0041", "\xff\r\n\t", "\u2028\x7f\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Line(s) {
			if unsafe(r) {
				t.Errorf("Line(%q) has %U", s, r)
			}
		}
		for _, r := range Body(s) {
			if unsafe(r) && r != '\n' && r != '\t' {
				t.Errorf("Body(%q) has %U", s, r)
			}
		}
		if !utf8.ValidString(s) {
			return
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := JSON(raw)
		for _, r := range string(escaped) {
			if unsafe(r) {
				t.Errorf("JSON(%s) has %U", raw, r)
			}
		}
		var back string
		if err := json.Unmarshal(escaped, &back); err != nil || back != s {
			t.Errorf("JSON(%s) = %s, which says %q (%v)", raw, escaped, back, err)
		}
	})
}

func TestFenceOutlastsCode(t *testing.T) {
	for _, text := range []string{"", "x", "```", "a ````\n```"} {
		if fence := fenceFor(text); strings.Contains(text, fence) {
			t.Errorf("fence %s ends inside %q", fence, text)
		}
	}
}
