package wire

import (
	"path"
	"strings"
	"unicode/utf8"
)

// maxSafeName bounds a file name made by SafeName, in bytes; file systems allow 255.
const maxSafeName = 120

// SafeName turns a peer's word, a blob's ref or its file's name, into a file name that is
// safe to create (section 16): ASCII letters, digits, "_", "." and "-", with every other
// character replaced by "_"; 1 to 120 bytes; never hidden, never "." or "..". Different
// words may give the same name, so nothing may be found by it alone.
func SafeName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && only(string(r), "_.-") {
			return r
		}
		return '_'
	}, s)
	if safe == "" || safe[0] == '.' {
		safe = "b_" + safe
	}
	return safe[:min(len(safe), maxSafeName)]
}

// DeriveSubject returns a subject for a thread whose first message has parts and names
// none (section 1): the first line of the first text that is not blank, cut to
// [SubjectRunes] code points; else the first file's name without its directories; else
// nothing.
func DeriveSubject(parts []Part) string {
	for _, p := range parts {
		if text := strings.TrimSpace(p.Text); p.K == PartText && text != "" {
			first, _, _ := strings.Cut(text, "\n")
			return ellipsis(strings.TrimSpace(first), SubjectRunes, "...")
		}
	}
	for _, p := range parts {
		if p.K == PartBlob && p.Name != "" {
			return ellipsis(path.Base(p.Name), SubjectRunes, "...")
		}
	}
	return ""
}

// Clip shortens s to at most n code points, the last of which is "…" if any were cut
// (section 1).
func Clip(s string, n int) string { return ellipsis(s, n, "…") }

// ellipsis shortens s to at most n code points, those of mark included.
func ellipsis(s string, n int, mark string) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	keep := n - utf8.RuneCountInString(mark)
	for i := range s {
		if keep == 0 {
			return s[:i] + mark
		}
		keep--
	}
	return s
}
