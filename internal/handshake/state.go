package handshake

// State is how far a handshake has come.
type State uint8

// The states.
const (
	Greeting  State = iota + 1 // our hello is out, theirs has not come
	Signing                    // the home is asked to sign
	Proving                    // our auth is out, theirs has not come
	Admitting                  // both proved their keys; the home decides
	Done
	Failed
)

var stateNames = [...]string{
	Greeting: "greeting", Signing: "signing", Proving: "proving",
	Admitting: "admitting", Done: "done", Failed: "failed",
}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) && stateNames[s] != "" {
		return stateNames[s]
	}
	return "unknown"
}

// edges lists where each state may go, beside Failed.
var edges = map[State]State{Greeting: Signing, Signing: Proving, Proving: Admitting, Admitting: Done}

func (s State) over() bool { return s == Done || s == Failed }

// become moves on. An impossible edge is a defect of this package, not of a peer.
func (m *Machine) become(next State) {
	if m.state.over() || next != Failed && edges[m.state] != next {
		panic("handshake: impossible step from " + m.state.String() + " to " + next.String())
	}
	m.state = next
}
