// Package doctor judges whether a home is well: it takes what others found out about its
// programs, files and peers, and makes of it the checks that `awp doctor` prints, each
// with its fix. It asks nobody, opens nothing and reads no clock; what could not be found
// out in time is a fact like any other.
//
// No check ever shows a tailcat address: people paste what doctor says into reports.
package doctor

import (
	"time"

	"github.com/awp-suite/awp"
)

// Facts are what is known of a home. A nil pointer is what could not be asked.
type Facts struct {
	Home      string // absolute
	Release   string // of awp itself
	Within    time.Duration
	Now       time.Time // by awp's clock
	Installed []Program // beside awp; nil: not found out in time
	Place     *Place    // nil: the disk did not answer in time
	Offload   string    // the setting that switches UDP segmentation offload on; empty: it is off
	PID       int       // of the supervisor; 0: none
	Last      Words     // why the last daemon ended, where it says so
	Store     Answer
	Wire      Answer
	Status    *awp.Status
	Peers     []awp.Peer // with Status
	Health    *Health
	Asked     Words // why Status or Health is not there, or not whole, although awp-store answers
}

// Words are a sentence for people and what to do about it. Both may be empty.
type Words struct{ Said, Hint string }

// Program is a program of the suite as it was found on disk.
type Program struct {
	Name    string
	Path    string // empty: not found
	Release string // empty: it did not say
	Trouble Words
}

// Answer is what a program said on its socket.
type Answer struct {
	Program string
	Release string
	PID     int
	Code    awp.Code // of the failure; empty: it answered
	Words
}

// Answered reports whether it did.
func (a Answer) Answered() bool { return a.Code == "" }

// Place is the home on its disk.
type Place struct {
	Missing  bool   // there is no such directory yet
	Trouble  Words  // it cannot be used at all
	Mode     uint32 // permission bits
	Writable bool
	Settings Words    // what is wrong with the settings
	Warnings []string // what is odd about them
	Open     []string // names of secret files that others can read
	Sockets  []Socket
	Deep     bool   // the home's path is too long for sockets: they are elsewhere
	Free     uint64 // bytes on its disk for this user
	Inodes   uint64 // files that can still be made; some disks do not count: 0 of 0
	Counted  bool   // Inodes means something
	Disk     string // why Free is not known
}

// Socket is a socket of the home as a file.
type Socket struct {
	Name    string
	Path    string
	Exists  bool
	Foreign bool   // the file is no socket
	Mode    uint32 // permission bits
}

// Health is what awp-store found about its records.
type Health struct {
	Problems []string
	Cut      bool
	Took     time.Duration
	Size     int64     // bytes
	Now      time.Time // by awp-store's clock
	Newest   time.Time // the newest record
	Lease    time.Time // no id of ours has a later stamp
	Ahead    map[awp.Key]time.Duration
	Refused  map[awp.Key]string // reason, by peer
}
