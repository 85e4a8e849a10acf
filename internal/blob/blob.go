// Package blob is the state machine of a file that arrives (PROTOCOL.md section 16). It
// is pure: it says where bytes belong and when a file is refused or whole; writing them
// is somebody else's work.
package blob

import "fmt"

// Status of an incoming file.
type Status string

// The statuses. A file is whole once all its data and the message that names it are in,
// in either order.
const (
	Pending  Status = "pending"  // data still arriving
	Received Status = "received" // all data in, the message not yet
	Complete Status = "complete" // both
	Refused  Status = "refused"  // over a limit or malformed; the rest is ignored
)

// Unknown is the size of a file whose message has not come.
const Unknown = -1

// In is one incoming file.
type In struct {
	Status Status
	Size   int64 // declared by the message; Unknown before it came
	Got    int64 // bytes received
	Next   int64 // number of the chunk expected next
	Named  bool  // the message that names it is in
}

// New returns a file of which nothing has come yet.
func New() In { return In{Status: Pending, Size: Unknown} }

// Verdict says what to do with a chunk.
type Verdict struct {
	Write  bool   // write the data at offset At
	At     int64  // bytes from the file's start
	Refuse string // why the file is refused from now on; empty unless it just was
}

// Chunk takes a chunk of size bytes. limit is the largest file accepted, in bytes.
func (b In) Chunk(n int64, last bool, size, limit int64) (In, Verdict) {
	if b.Status != Pending || n < b.Next {
		return b, Verdict{} // refused, whole, or a replay
	}
	switch total := b.Got + size; {
	case n > b.Next:
		return b.refuse(fmt.Sprintf("chunk %d came, %d was expected", n, b.Next))
	case total > limit:
		return b.refuse(fmt.Sprintf("larger than the limit of %d bytes", limit))
	case b.Named && total > b.Size:
		return b.refuse(fmt.Sprintf("more data than the %d bytes the message declared", b.Size))
	case b.Named && last && total < b.Size:
		return b.refuse(fmt.Sprintf("ended after %d of the %d bytes the message declared", total, b.Size))
	}
	v := Verdict{Write: true, At: b.Got}
	b.Got += size
	b.Next++
	if last {
		b.Status = Received
		if b.Named {
			b.Status = Complete
		}
	}
	return b, v
}

// Broken takes a chunk whose data could not be decoded.
func (b In) Broken(why string) (In, Verdict) {
	if b.Status != Pending {
		return b, Verdict{}
	}
	return b.refuse(why)
}

// Lost gives up a file whose data, taken before, is no longer there. Its sender has
// forgotten that data.
func (b In) Lost() (In, Verdict) { return b.refuse("data that had arrived was lost") }

// Message takes the message that names the file and declares its size. A file whose data
// came first keeps the size that came: the declaration is not believed over the data.
func (b In) Message(size, limit int64) (In, Verdict) {
	if b.Named {
		return b, Verdict{}
	}
	b.Named = true
	switch b.Status {
	case Received:
		b.Status, b.Size = Complete, b.Got
	case Pending:
		b.Size = size
		if size > limit {
			return b.refuse(fmt.Sprintf("declared %d bytes, the limit is %d", size, limit))
		}
		if b.Got > size {
			return b.refuse(fmt.Sprintf("more data than the %d bytes the message declared", size))
		}
	}
	return b, Verdict{}
}

func (b In) refuse(why string) (In, Verdict) {
	b.Status = Refused
	return b, Verdict{Refuse: why}
}

// Chunks returns how many chunks of at most chunk bytes carry size bytes: an empty file
// is one empty chunk.
func Chunks(size, chunk int64) int64 { return max(1, (size+chunk-1)/chunk) }
