package wire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafeName(t *testing.T) {
	for in, want := range map[string]string{
		"report-1_a.txt":               "report-1_a.txt",
		"my file.txt":                  "my_file.txt",
		"../../etc/passwd":             "b_.._.._etc_passwd",
		"/etc/passwd":                  "_etc_passwd",
		`C:\x`:                         "C__x",
		".bashrc":                      "b_.bashrc",
		".":                            "b_.",
		"..":                           "b_..",
		"":                             "b_",
		"é\x00\n😀":                     "____",
		"\xff\xfe":                     "__",
		strings.Repeat("x", 200):       strings.Repeat("x", 120),
		"." + strings.Repeat("x", 200): "b_." + strings.Repeat("x", 117),
	} {
		if got := SafeName(in); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDeriveSubject(t *testing.T) {
	eighty := strings.Repeat("é", 80)
	text := func(s string) Part { return Part{K: PartText, Text: s} }
	file := func(s string) Part { return Part{K: PartBlob, Name: s} }
	for name, tt := range map[string]struct {
		parts []Part
		want  string
	}{
		"nothing":          {nil, ""},
		"first line":       {[]Part{text("\n\t Build it \r\nnow\n")}, "Build it"},
		"first text":       {[]Part{{K: PartCode, Text: "code"}, text("one"), text("two")}, "one"},
		"text before file": {[]Part{file("a.txt"), text("one")}, "one"},
		"just long enough": {[]Part{text(eighty)}, eighty},
		"too long":         {[]Part{text(eighty + "x")}, strings.Repeat("é", 77) + "..."},
		"blank text":       {[]Part{text(" \n"), text("two")}, "two"},
		"file":             {[]Part{text(" "), {K: PartBlob}, file("dir/a.txt")}, "a.txt"},
		"neither":          {[]Part{{K: PartData}, {K: "image", Text: "x"}}, ""},
	} {
		if got := DeriveSubject(tt.parts); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"éèê", 3, "éèê"}, {"éèêë", 3, "éè…"}, {"ab", 1, "…"},
	} {
		got := Clip(tt.in, tt.n)
		if got != tt.want || utf8.RuneCountInString(got) > tt.n {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
