package conformance

import "slices"

// Scenario is one thing a peer is held to.
type Scenario struct {
	Name    string `json:"name"`
	Section string `json:"section"` // of PROTOCOL.md
	Doc     string `json:"doc"`     // what must happen
	Solo    bool   `json:"solo"`    // needs connections of its own, so not in listen mode
	Cap     string `json:"cap,omitzero"`
	Prompt  bool   `json:"prompt,omitzero"` // the peer must be made to send

	run func(*trial)
}

// Scenarios returns all of them in the order they are run. In listen mode bye comes last,
// because it ends the one connection.
func Scenarios() []Scenario {
	return slices.Concat(handshakes(), strangers(), badLines(), lines(), threads(), duplicates(),
		resumes(), blobs(), grants(), sharing(), closers(), prompted(), byes())
}

// solo makes scenarios that need connections of their own of several.
func solo(list []Scenario) []Scenario {
	for i := range list {
		list[i].Solo = true
	}
	return list
}
