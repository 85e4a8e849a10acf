// Package config reads an agent's settings. They come from three places, later ones
// winning: config.json in the home, the environment, and flags of the command line,
// which travel as environment to the programs of the home ([Flags.Environ]).
//
// It judges every value where it is written, so that a slip is reported with its place
// before anything starts. It never writes config.json: keys it does not know stay there
// for the release that does, and are reported as warnings. What the store remembers
// between starts (name, about, harness, model, shares) is the store's business; Settings
// says only which of these were set.
package config

import (
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Defaults.
const (
	DefaultBlobLimit    = wire.DefaultBlobLimit // bytes
	DefaultPingInterval = wire.PingInterval
	DefaultOutboxTTL    = wire.OutboxTTL
)

// ListenTailcat is the one word among listen addresses: this agent's own tailcat node.
const ListenTailcat = "tailcat"

// None, alone, means no listener; as the address to advertise it means no address.
const None = "none"

// Admission policies.
const (
	AcceptAny       = "any"
	AcceptAllowlist = "allowlist"
)

// Settings are one agent's settings, complete and valid.
type Settings struct {
	Name    string // empty unless set: see Set
	About   string
	Harness string // one of Harnesses; empty unless set
	Model   string

	Listen    []string // canonical addresses and ListenTailcat, none twice; may be empty
	Advertise string   // canonical address, None, or empty: choose one
	Tailcat   Tailcat

	Presence  bool
	ShareWith []awp.Key

	BlobLimit    int64 // bytes
	PingInterval time.Duration
	OutboxTTL    time.Duration

	Trace          bool // log every protocol line
	Verbose        bool // include tailcat's own log
	AllowPlaintext bool // dial public addresses over plain TCP

	Policy Policy

	// Set says which of the settings that the store remembers were written anywhere.
	// Where one was, it replaces what the store remembers.
	Set struct{ Name, About, Harness, Model, ShareWith bool }

	// Warnings are sentences about what is odd and harmless.
	Warnings []string
}

// Policy is who gets in, and what is done for them without asking.
type Policy struct {
	Accept string    // AcceptAny or AcceptAllowlist
	Allow  []awp.Key // admitted under AcceptAllowlist
	Trust  []awp.Key // issuers whose grants count
	Serve  []string  // capabilities: exec, fs:read, fs:write
	Root   string    // absolute directory they are confined to, or empty
}

// Load returns the settings of home. env is [os.Getenv] or stands in for it. A value that
// is off anywhere is an error that names its place, what it is and what is wanted.
func Load(home string, env func(string) string) (Settings, error) {
	s := Settings{
		Listen:       []string{ListenTailcat},
		BlobLimit:    DefaultBlobLimit,
		PingInterval: DefaultPingInterval,
		OutboxTTL:    DefaultOutboxTTL,
		Policy:       Policy{Accept: AcceptAny},
	}
	table := s.table(home)
	if err := s.loadFile(home, table); err != nil {
		return Settings{}, err
	}
	if err := loadEnv(env, table); err != nil {
		return Settings{}, err
	}
	s.finish(env)
	if err := s.Tailcat.check(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// finish settles what no single value decides.
func (s *Settings) finish(env func(string) string) {
	if len(s.Listen) == 1 && s.Listen[0] == None {
		s.Listen = []string{}
	}
	if on(env(envNoTailcat), "0", "false") {
		kept := []string{}
		for _, addr := range s.Listen {
			if addr != ListenTailcat {
				kept = append(kept, addr)
			}
		}
		s.Listen = kept
	}
}
