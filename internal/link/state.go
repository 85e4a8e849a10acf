package link

// State is how far the connection to a peer has come.
type State uint8

// The states. A [Machine] begins as Resuming; what comes before is for those who dial,
// listen and shake hands to tell.
const (
	Down     State = iota
	Dialing        // an address is being tried
	Greeting       // connected; hello is out, theirs has not come
	Proving        // auth, and the home's admission
	Resuming       // admitted; the peer's resume has not come
	Live           // lines flow both ways
	Draining       // nothing new is written; what still comes is read
)

var stateNames = [...]string{
	Down: "down", Dialing: "dialing", Greeting: "greeting", Proving: "proving",
	Resuming: "resuming", Live: "live", Draining: "draining",
}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// become moves on. An impossible edge is a defect of this package, not of a peer.
func (m *Machine) become(next State) {
	ok := false
	switch m.state {
	case Resuming:
		ok = next == Live || next == Draining || next == Down
	case Live:
		ok = next == Draining || next == Down
	case Draining:
		ok = next == Down
	}
	if !ok {
		panic("link: impossible step from " + m.state.String() + " to " + next.String())
	}
	m.state = next
}

// drain says why a link is draining, which decides what still counts.
type drain uint8

const (
	none      drain = iota
	answering       // the peer said bye; the home is noting it, then we answer
	answered        // our answer to the peer's bye is out: wait for its end of the stream
	asked           // our bye is out: wait for the peer's
	broken          // a closing err is out: discard what comes, wait for the end
	cut             // writing failed: what the peer still says may tell why
)
