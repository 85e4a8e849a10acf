package store

import "github.com/awp-suite/awp"

// What waits for the committer takes turns by whose it is: a peer, or this home's own
// programs. Within one lane the order is that of arrival; between lanes there is none but
// that of the turns, so whatever must stay in order with a peer's lines (its admission,
// its resume, the end of its link) waits in that peer's lane.

// A turn lets a lane bring so many bytes into a batch, and what it does not use counts at
// its next one. Every change costs opCost beside its bytes, the work in the database, and
// fileCost for each file that it may touch.
const (
	turnBytes = 8 << 10
	opCost    = 4 << 10
	fileCost  = 16 << 10
)

// A batch gives this home's own calls so much before the peers' turns, so that a thousand
// peers that all have something to say make no command wait for their round.
const (
	ownOps   = batchOps / 2
	ownBytes = batchBytes / 2
)

// lane is what waits of one peer, or of the home itself.
type lane struct {
	key    awp.Key // zero: the home's
	ops    []op
	lazy   int // of ops: acks
	credit int // bytes it may bring, within its turn
	next   *lane
}

// turns are the lanes. The writer's mutex guards them.
type turns struct {
	own         lane
	peers       map[awp.Key]*lane // those with something in them
	first, last *lane             // of peers, in the order of their turns
	n           int               // changes in all lanes
}

// add queues a change at the end of its lane. A lane that was empty has its turn after
// those that wait.
func (t *turns) add(o op) {
	l := &t.own
	if !o.whose.IsZero() {
		if l = t.peers[o.whose]; l == nil {
			l = &lane{key: o.whose}
			if t.peers == nil {
				t.peers = make(map[awp.Key]*lane)
			}
			t.peers[o.whose] = l
			t.append(l)
		}
	}
	l.ops = append(l.ops, o)
	if o.lazy {
		l.lazy++
	}
	t.n++
}

func (t *turns) append(l *lane) {
	l.next = nil
	if t.last == nil {
		t.first = l
	} else {
		t.last.next = l
	}
	t.last = l
}

// waiting lists the lanes that have something in them, or, with lazy, that have acks.
func (t *turns) waiting(lazy bool) (whose []awp.Key) {
	look := func(l *lane) {
		if len(l.ops) > 0 && (!lazy || l.lazy > 0) {
			whose = append(whose, l.key)
		}
	}
	look(&t.own)
	for l := t.first; l != nil; l = l.next {
		look(l)
	}
	return whose
}

// cut takes the next batch.
func (t *turns) cut() []op {
	b := batch{ops: make([]op, 0, min(t.n, batchOps))}
	for len(t.own.ops) > 0 && b.fits(t.own.ops[0], ownOps, ownBytes) {
		b.take(t, &t.own)
	}
	for l := t.first; l != nil; l = t.first {
		l.credit += turnBytes
		for len(l.ops) > 0 && l.ops[0].cost() <= l.credit {
			if !b.fits(l.ops[0], batchOps, batchBytes) {
				l.credit -= turnBytes // its turn goes on with the next batch
				return b.ops
			}
			l.credit -= l.ops[0].cost()
			b.take(t, l)
		}
		if t.first = l.next; t.first == nil {
			t.last = nil
		}
		if len(l.ops) == 0 {
			delete(t.peers, l.key)
		} else {
			t.append(l)
		}
	}
	for len(t.own.ops) > 0 && b.fits(t.own.ops[0], batchOps, batchBytes) {
		b.take(t, &t.own)
	}
	return b.ops
}

func (o op) cost() int { return o.size + opCost + o.files*fileCost }

// batch is what one transaction takes.
type batch struct {
	ops   []op
	bytes int
	files int
}

// fits reports whether o may join. The first always may.
func (b *batch) fits(o op, ops, bytes int) bool {
	return len(b.ops) == 0 || len(b.ops) < ops && b.bytes+o.size <= bytes && (o.files == 0 || b.files+o.files <= batchFiles)
}

// take moves the first change of a lane into the batch.
func (b *batch) take(t *turns, l *lane) {
	o := l.ops[0]
	l.ops[0] = op{} // it must not live as long as the array
	if l.ops = l.ops[1:]; len(l.ops) == 0 {
		l.ops = nil
	}
	if o.lazy {
		l.lazy--
	}
	t.n--
	b.ops = append(b.ops, o)
	b.bytes += o.size
	b.files += o.files
}
