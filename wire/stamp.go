package wire

import (
	"fmt"
	"strings"
	"time"
)

// Stamp writes t as the ts of a line: UTC, cut to milliseconds (section 4).
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ParseStamp reads a time in any spelling of RFC 3339, for the signed objects whose times
// mean something. The ts of a line means nothing to its receiver.
func ParseStamp(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err != nil {
		return time.Time{}, fmt.Errorf("parse time: %w", err)
	}
	return t, nil
}
