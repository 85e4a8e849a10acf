package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/awp-suite/awp"
)

// cellClip is the length of a subject or a file's name in a table, in characters.
const cellClip = 48

// Peers appends a table of peers, or a hint when there are none.
func Peers(b []byte, peers []awp.Peer) []byte {
	if len(peers) == 0 {
		return append(b, "no peers yet; awp connect <address> brings up the first\n"...)
	}
	t := newTable("PEER", "KEY", "STATE", "QUEUED", "THREADS", "UNREAD", "GRANTED")
	for _, p := range peers {
		granted := strings.Join(p.Granted, ",")
		if granted == "" {
			granted = "-"
		}
		t.row(p.Label(), p.Short, PeerState(p), strconv.Itoa(p.Outbox), strconv.Itoa(p.OpenThreads), strconv.Itoa(p.Unread), granted)
	}
	return t.append(b)
}

// PeerState says in a word or two how we stand with a peer.
func PeerState(p awp.Peer) string {
	switch {
	case p.Connected && p.Outbound:
		return "connected (out)"
	case p.Connected:
		return "connected (in)"
	case p.Dialing:
		return "reconnecting"
	case p.Parked:
		return "said bye"
	}
	return "offline"
}

// Threads appends a table of threads. Wide leaves subjects in full.
func Threads(b []byte, threads []awp.Thread, wide bool, now time.Time) []byte {
	if len(threads) == 0 {
		return append(b, "no threads\n"...)
	}
	t := newTable("THREAD", "PEER", "SUBJECT", "YOU", "THEM", "UNREAD", "UPDATED")
	for _, th := range threads {
		t.row(string(th.Th), awp.Label("", th.PeerName, th.Peer), cell(th.Subject, wide),
			stateFor(th.MyState, th.MySince, now), stateFor(th.TheirState, th.TheirSince, now),
			strconv.Itoa(th.Unread), Ago(th.Updated, now))
	}
	return t.append(b)
}

// cell returns a text of any length fit for a table. Wide leaves it in full.
func cell(text string, wide bool) string {
	text = Line(text)
	if wide {
		return text
	}
	return Clip(text, cellClip)
}

// stateFor returns a state and how long it has stood.
func stateFor(state string, since, now time.Time) string {
	if since.IsZero() {
		return state
	}
	return state + " " + Age(now.Sub(since))
}

// Thread appends the line that heads the view of one thread.
func Thread(b []byte, th awp.Thread) []byte {
	b = append(b, Line(string(th.Th))...)
	b = append(b, `  "`+Line(th.Subject)+`"`...)
	b = append(b, "  you: "+withNote(th.MyState, th.MyNote)...)
	b = append(b, "  them: "+withNote(th.TheirState, th.TheirNote)...)
	return append(b, '\n')
}

// Standing says where the peer's state of a thread stands after a wait for it.
func Standing(b []byte, th awp.Thread, matched bool) []byte {
	verb := " is still "
	if matched {
		verb = " is "
	}
	b = append(b, Line(awp.Label("", th.PeerName, th.Peer))+verb+Line(th.TheirState)...)
	b = append(b, " on "+Line(string(th.Th))...)
	if th.TheirNote != "" {
		b = append(b, " ("+Line(th.TheirNote)+")"...)
	}
	return append(b, '\n')
}

func withNote(state, note string) string {
	if note == "" {
		return Line(state)
	}
	return Line(state) + " (" + Line(note) + ")"
}

// Blobs appends a table of files. Wide leaves names in full.
func Blobs(b []byte, blobs []awp.Blob, wide bool) []byte {
	if len(blobs) == 0 {
		return append(b, "no blobs\n"...)
	}
	t := newTable("DIR", "NAME", "SIZE", "STATUS", "THREAD", "PATH")
	for _, f := range blobs {
		name := f.Name
		if name == "" {
			name = f.Ref
		}
		t.row(f.Dir, cell(name, wide), Size(f.Size), f.Status, string(f.Th), f.Path)
	}
	return t.append(b)
}
