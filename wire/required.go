package wire

// typed is implemented by the line types: what Decode and Encode ask of one beyond its
// JSON being well-typed.
type typed interface {
	envelope() Envelope
	lineType() string // what member t must say
	fault() string    // which member is missing or too long, or ""
}

func (e Envelope) envelope() Envelope { return e }

// overlong asks of every line what [MaxID] is for.
func (e Envelope) overlong() string {
	return firstLong("id", string(e.ID), "th", string(e.Th), "re", string(e.Re))
}

// fault is for the types that need nothing; the others hide it with their own.
func (e Envelope) fault() string { return "" }

func (Hello) lineType() string     { return TypeHello }
func (Auth) lineType() string      { return TypeAuth }
func (Resume) lineType() string    { return TypeResume }
func (Msg) lineType() string       { return TypeMsg }
func (State) lineType() string     { return TypeState }
func (Ack) lineType() string       { return TypeAck }
func (Chunk) lineType() string     { return TypeChunk }
func (Ping) lineType() string      { return TypePing }
func (Pong) lineType() string      { return TypePong }
func (Bye) lineType() string       { return TypeBye }
func (Err) lineType() string       { return TypeErr }
func (Grant) lineType() string     { return TypeGrant }
func (Introduce) lineType() string { return TypeIntroduce }
func (Presence) lineType() string  { return TypePresence }
func (Mirror) lineType() string    { return TypeMirror }
func (Private) lineType() string   { return TypePrivate }

// The lists are section 10's. Members that are absent from them are for the receiver to
// judge: a hello without a key fails auth, an ack without re is ignored.

func (l Private) fault() string { return firstEmpty("id", string(l.ID), "th", string(l.Th)) }

func (l State) fault() string {
	return firstEmpty("id", string(l.ID), "th", string(l.Th), "state", l.State)
}

func (l Mirror) fault() string {
	return firstEmpty("id", string(l.ID), "th", string(l.Th), "of", l.Of)
}

func (l Chunk) fault() string {
	if fault := firstEmpty("id", string(l.ID), "ref", l.Ref); fault != "" {
		return fault
	}
	return firstLong("ref", l.Ref)
}

func (l Msg) fault() string {
	if fault := firstEmpty("id", string(l.ID), "th", string(l.Th)); fault != "" {
		return fault
	}
	for _, p := range l.Parts {
		if fault := firstLong("ref", p.Ref); fault != "" {
			return fault
		}
	}
	return ""
}

// firstEmpty takes names and values in turn.
func firstEmpty(pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return "no " + pairs[i]
		}
	}
	return ""
}

// firstLong takes names and values in turn.
func firstLong(pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if len(pairs[i+1]) > MaxID {
			return pairs[i] + " too long"
		}
	}
	return ""
}
