package render

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0s"},
		{0, "0s"},
		{59*time.Second + 999*time.Millisecond, "59s"},
		{time.Minute, "1m"},
		{59*time.Minute + 59*time.Second, "59m"},
		{time.Hour, "1h"},
		{48*time.Hour - 1, "47h"},
		{48 * time.Hour, "2d"},
		{1000 * time.Hour, "41d"},
	} {
		if got := Age(tt.d); got != tt.want {
			t.Errorf("Age(%v) = %s, want %s", tt.d, got, tt.want)
		}
	}
}

func TestAgo(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, zone)
	for _, tt := range []struct {
		t    time.Time
		want string
	}{
		{time.Time{}, "-"},
		{now.Add(time.Hour), "0s ago"}, // a peer's clock, or ours, is off
		{now.Add(-47 * time.Second), "47s ago"},
		{now.Add(-47 * time.Hour), "47h ago"},
		{time.Date(2026, 11, 2, 23, 30, 0, 0, time.UTC), "Nov 3"}, // the zone is now's
	} {
		if got := Ago(tt.t, now); got != tt.want {
			t.Errorf("Ago(%v) = %s, want %s", tt.t, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                            "0s",
		90 * time.Second:             "1m30s",
		5 * time.Minute:              "5m",
		10 * time.Minute:             "10m",
		time.Hour:                    "1h",
		10 * time.Hour:               "10h",
		90 * time.Minute:             "1h30m",
		time.Hour + 5*time.Second:    "1h0m5s",
		1500 * time.Millisecond:      "1.5s",
		20*time.Minute + time.Second: "20m1s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "?", 0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 50 << 20: "50.0 MiB", 3 << 30: "3072.0 MiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 4, ""},
		{"four", 4, "four"},
		{"fives", 4, "fiv…"},
		{"äöüßx", 4, "äöü…"},
	} {
		if got := Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
