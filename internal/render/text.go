package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line returns s fit for one line: as it is, but with everything that is not plain text
// spelled as in a Go string (\n, \x1b, \u202e).
func Line(s string) string { return clean(s, "") }

// Body returns s fit for display over several lines: newlines and tabs stay, a carriage
// return before a newline goes, all else is as in [Line].
func Body(s string) string { return clean(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

func clean(s, keep string) string {
	i := 0
	for i < len(s) && ' ' <= s[i] && s[i] < 0x7f {
		i++
	}
	if i == len(s) {
		return s // the usual case
	}
	b := []byte(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\x`...)
			b = append(b, hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case unsafe(r) && !strings.ContainsRune(keep, r):
			quoted := strconv.AppendQuoteRuneToASCII(nil, r)
			b = append(b, quoted[1:len(quoted)-1]...)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

const hexDigits = "0123456789abcdef"

// unsafe reports whether r does something other than showing itself.
func unsafe(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0x9f: // C0, DEL, C1: terminals obey them
		return true
	case r < 0x61c:
		return false
	case r == 0x61c, r == 0x180e: // Arabic letter mark, a vowel separator without width
		return true
	case 0x200b <= r && r <= 0x200f: // no width, and direction marks
		return r != 0x200c && r != 0x200d // joiners: Persian and emoji need them
	case 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f: // separators, direction, no width
		return true
	case r == 0xfeff, 0xfff9 <= r && r <= 0xfffb: // byte order mark, annotations
		return true
	case 0xe0000 <= r && r <= 0xe0fff: // tags and selectors: whole sentences that only a model sees
		return true
	}
	return false
}

// JSON returns text, which is JSON, with every character that [Line] would spell out as
// a \u escape. It means the same to a program. In JSON such characters stand inside
// strings only; line breaks and tabs between values stay.
func JSON(text []byte) []byte {
	plain := true
	for _, c := range text {
		if c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return text // an encoder escaped the rest
	}
	b := make([]byte, 0, len(text)+64)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r >= 0x7f && n > 0 && unsafe(r) {
			b = appendUnit(b, r)
		} else {
			b = append(b, text[i:i+n]...)
		}
		i += n
	}
	return b
}

// appendUnit appends r as JSON escapes it: above the basic plane, as a surrogate pair.
func appendUnit(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		b = appendUnit(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// Arg returns s as one argument in a command that a person may copy into a shell.
func Arg(s string) string {
	s = Line(s)
	if s != "" && strings.IndexFunc(s, needsQuote) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func needsQuote(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("@%+=:,./_-", r)
}

// DefaultAbout reports whether a peer's about is what its program says when its owner said
// nothing. It tells a person nothing.
func DefaultAbout(about string) bool {
	return strings.HasPrefix(about, "awp-") && strings.Contains(about, "key fingerprint")
}
