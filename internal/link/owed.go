package link

import (
	"time"

	"github.com/awp-suite/awp/wire"
)

// owed is what was written and is not known to have arrived. No transport says: towards a
// peer whose network is gone, or which sleeps, writes go well and reads wait (NATLAB.md
// section 4). But the stream is ordered, so the pong to a ping tells that everything
// written before the ping was read.
//
// While something is owed, silence is tested early: see wire.ProbeAfter and
// wire.AnswerWithin. A link that owes nothing keeps to the slow idle test.
type owed struct {
	lines, bytes int       // not known to have arrived
	after        [2]int    // of them, lines and bytes written after our last ping
	since        time.Time // of the oldest; of its write or of the ping before it
	loaded       bool      // our last ping stands behind much in the transport's buffer
}

func (o *owed) any() bool { return o.lines > 0 }

// much reports whether a ping is due for its bytes alone, so that at the end of a file
// little is owed, and the end is not waited for longer than it takes.
func (o *owed) much() bool { return o.after[1] >= wire.ProbeBytes || o.after[0] >= wire.ProbeLines }

func (o *owed) wrote(w Wrote) {
	if !o.any() {
		o.since = w.At
	}
	o.lines += w.Lines
	o.bytes += w.Bytes
	o.after[0] += w.Lines
	o.after[1] += w.Bytes
}

func (o *owed) pinged() {
	o.loaded = o.bytes >= wire.ProbeBytes
	o.after = [2]int{}
}

// ponged takes the answer to our last ping, which was sent at.
func (o *owed) ponged(at time.Time) {
	o.lines, o.bytes, o.since = o.after[0], o.after[1], at
}

// patience is how long the answer to a ping may take. It waits in the transport's buffer
// behind what is owed, and the peer judges lines before it reads on: so a large file on a
// slow line, or a peer whose disk is slow, is given longer.
func (o *owed) patience() time.Duration {
	return wire.AnswerWithin +
		time.Duration(o.bytes)*time.Second/wire.SlowestBytes +
		time.Duration(o.lines)*time.Second/wire.SlowestLines
}

// wrote takes a report of the writer.
func (m *Machine) wrote(w Wrote) []Effect {
	m.owed.wrote(w)
	if m.state == Live && m.pingID == "" && m.owed.much() {
		return []Effect{Ping{}}
	}
	return nil
}

// owedAt is when silence is due for a ping or, while one is out, for the end.
func (m *Machine) owedAt() (at time.Time, any bool) {
	if !m.owed.any() || m.held || m.state == Draining {
		return time.Time{}, false
	}
	quiet := m.heard // since when nothing came that had to
	if quiet.Before(m.owed.since) {
		quiet = m.owed.since
	}
	if m.probing() {
		return quiet.Add(m.owed.patience()), true
	}
	return quiet.Add(wire.ProbeAfter), true
}

// probing reports whether a ping is out that asks for all that is owed at first: what was
// written after it is asked for by the next.
func (m *Machine) probing() bool {
	return m.pingID != "" && !m.pingAt.Before(m.owed.since)
}

// doubt treats the link as if something was owed: a ping now, and the end if nothing
// comes.
func (m *Machine) doubt(now time.Time) []Effect {
	if m.state != Live || m.held {
		return nil
	}
	m.heard = now
	m.owed.wrote(Wrote{Lines: 1, At: now})
	return []Effect{Ping{}}
}
