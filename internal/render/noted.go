package render

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/awp-suite/awp"
)

// noted is the meta of every event that the home itself writes. Which members count
// depends on the event's type (CONTROL.md section 3).
type noted struct {
	Event  string         `json:"event"`
	Lines  int            `json:"lines"`
	Name   string         `json:"name"`
	Path   string         `json:"path"`
	Reason string         `json:"reason"`
	Size   int64          `json:"size"`
	Th     string         `json:"th"`
	Via    string         `json:"via"`
	With   []string       `json:"with"`
	Names  jsontext.Value `json:"names"`
}

// appendNoted says what the home noted about a peer.
func appendNoted(b []byte, e awp.Event, label string) []byte {
	var n noted
	if len(e.Meta) > 0 {
		if err := json.Unmarshal(e.Meta, &n); err != nil {
			return appendRaw(b, e.Type, e.Meta)
		}
	}
	switch e.Type {
	case "connected":
		b = append(b, "connected via "+Line(n.Via)...)
	case "disconnected":
		b = append(b, "disconnected: "+Line(n.Reason)...)
	case "blob":
		b = append(b, "received "+Line(n.Name)+" ("+Size(n.Size)+") → "+Line(n.Path)...)
	case "bye":
		b = append(b, "said bye"...)
		if n.Reason != "" {
			b = append(b, " ("+Line(n.Reason)+")"...)
		}
	case "refused":
		b = append(b, "refused a connection: "+Line(n.Reason)...)
	case "expired":
		b = append(b, "gave up on "+Count(n.Lines, "line", "lines")+" that "+label+" did not acknowledge in time"...)
	case "shares":
		b = append(b, n.shares()...)
	case "private":
		b = append(b, "asked to keep "+Line(n.Th)+" private"...)
	case "presence":
		b = append(b, Line(n.Event)+" the network"...)
	default:
		return appendRaw(b, e.Type, e.Meta)
	}
	return append(b, '\n')
}

func (n noted) shares() string {
	if len(n.With) == 0 {
		return "stopped sharing its conversations"
	}
	return "shares its conversations with " + Line(strings.Join(n.hosts(), ", ")) +
		", so they can read your messages to it. `awp private <thread>` keeps a thread out."
}

// hosts returns the names of the hosts shared with, where they are known.
func (n noted) hosts() []string {
	var names []string
	if len(n.Names) > 0 && json.Unmarshal(n.Names, &names) == nil && len(names) == len(n.With) {
		return names
	}
	names = nil
	for _, spelled := range n.With {
		if key, err := awp.ParseKey(spelled); err == nil {
			spelled = key.Short()
		}
		names = append(names, spelled)
	}
	return names
}
