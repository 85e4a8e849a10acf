package render

import (
	"fmt"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Age returns how long d is in its largest whole unit: 5s, 2m, 3h; days from 48 hours on.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// Ago returns how long before now t was, a date in now's zone when that is 48 hours or
// more, and "-" for the zero time.
func Ago(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case now.Sub(t) < 2*day:
		return Age(now.Sub(t)) + " ago"
	}
	return t.In(now.Location()).Format("Jan 2")
}

// Duration spells d as flags take it, without the zero units at its end: 5m, 1h30m.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size spells a size in bytes; a negative one is not known.
func Size(n int64) string {
	switch {
	case n < 0:
		return "?"
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Count returns n and the word that fits it.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Clip returns s, or its first n-1 characters and an ellipsis when it has more than n.
func Clip(s string, n int) string {
	seen := 0
	cut := len(s)
	for i := range s {
		if seen == n-1 {
			cut = i
		}
		if seen++; seen > n {
			return s[:cut] + "…"
		}
	}
	return s
}
