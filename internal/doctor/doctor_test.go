package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// well returns the facts of a home that lacks nothing.
func well() Facts {
	f := Facts{
		Home: "/h", Release: "0.1.0", Within: 20 * time.Second, Now: now, PID: 7,
		Installed: []Program{{Name: "awp-store", Path: "/b/awp-store", Release: "0.1.0"}, {Name: "awp-wire", Path: "/b/awp-wire", Release: "0.1.0"}},
		Place:     &Place{Mode: 0o700, Writable: true, Free: 10 << 30, Inodes: 1e6, Counted: true},
		Store:     Answer{Program: "awp-store", Release: "0.1.0", PID: 8},
		Wire:      Answer{Program: "awp-wire", Release: "0.1.0", PID: 9},
		Status:    &awp.Status{Addresses: []string{"unix:/s"}},
		Health:    &Health{Now: now, Newest: now.Add(-time.Hour), Lease: now.Add(2 * time.Second), Size: 1 << 20},
	}
	for _, name := range []string{"awp.sock", "awp-wire.sock"} {
		f.Place.Sockets = append(f.Place.Sockets, Socket{Name: name, Path: "/h/" + name, Exists: true, Mode: 0o600})
	}
	return f
}

func TestWell(t *testing.T) {
	d := Judge(well())
	var names []string
	for _, c := range d.Checks {
		names = append(names, c.Name)
		if c.Status != awp.CheckOK || c.Fix != "" || c.Detail == "" {
			t.Errorf("got %+v", c)
		}
	}
	if got := strings.Join(names, " "); !d.OK || got != "programs home socket daemon store disk clock relay address peers" || len(d.Skipped) > 0 {
		t.Errorf("got %v, %s, skipped %v", d.OK, got, d.Skipped)
	}
}

// Of a home with one fault that fault is told, with a fix, and nothing else.
func TestOneFault(t *testing.T) {
	key := awp.Key{1}
	secret := "tc" + strings.Repeat("A", 50)
	for name, test := range map[string]struct {
		harm          func(*Facts)
		check, status string
		detail, fix   string // parts of them
	}{
		"program missing": {func(f *Facts) {
			f.Installed[0] = Program{Name: "awp-store", Trouble: Words{"awp-store is nowhere", "install it"}}
		}, Programs, awp.CheckFail, "nowhere", "install it"},
		"program old":        {func(f *Facts) { f.Installed[1].Release = "0.0.9" }, Programs, awp.CheckFail, "/b/awp-wire is of release 0.0.9, awp of 0.1.0", "side by side"},
		"old one runs":       {func(f *Facts) { f.Wire.Release = "0.0.9" }, Programs, awp.CheckFail, "the awp-wire that runs is of release 0.0.9", "awp down"},
		"very old one runs":  {func(f *Facts) { f.Wire = Answer{Program: "awp-wire", Code: awp.Skew} }, Programs, awp.CheckFail, "another release", "awp down"},
		"programs hang":      {func(f *Facts) { f.Installed = nil }, Programs, awp.CheckFail, "in time", "disk"},
		"home open":          {func(f *Facts) { f.Place.Mode = 0o755 }, Home, awp.CheckFail, "mode 755", "chmod 700 /h"},
		"home not writable":  {func(f *Facts) { f.Place.Writable = false }, Home, awp.CheckFail, "cannot be written", "chmod"},
		"secret open":        {func(f *Facts) { f.Place.Open = []string{"identity.json"} }, Home, awp.CheckFail, "identity.json", "chmod 600 /h/identity.json"},
		"settings":           {func(f *Facts) { f.Place.Settings = Words{"bad", "mend"} }, Home, awp.CheckFail, "bad", "mend"},
		"odd settings":       {func(f *Facts) { f.Place.Warnings = []string{"odd"} }, Home, awp.CheckWarn, "odd", "correct"},
		"socket removed":     {func(f *Facts) { f.Place.Sockets[0].Exists = false }, Sockets, awp.CheckFail, "gone", "awp down"},
		"socket in the way":  {func(f *Facts) { f.Place.Sockets[0].Foreign = true }, Sockets, awp.CheckFail, "in the way", "move"},
		"socket open":        {func(f *Facts) { f.Place.Sockets[0].Mode = 0o666 }, Sockets, awp.CheckFail, "mode 666", "chmod 600"},
		"wire hangs":         {func(f *Facts) { f.Wire = Answer{Program: "awp-wire", Code: awp.Busy, Words: Words{Said: "no answer"}} }, Daemon, awp.CheckFail, "awp-wire: no answer", "daemon.log"},
		"wire crashes":       {func(f *Facts) { f.Wire.Code, f.Last = awp.Busy, Words{"too hot", "cool it"} }, Daemon, awp.CheckFail, "too hot", "cool it"},
		"nobody serves":      {func(f *Facts) { f.Wire.Code = awp.Unreachable }, Daemon, awp.CheckFail, "nobody serves", "awp down"},
		"damage":             {func(f *Facts) { f.Health.Problems = []string{"page 7"} }, Store, awp.CheckFail, "damaged: page 7", "backup"},
		"large database":     {func(f *Facts) { f.Health.Cut = true }, Store, awp.CheckWarn, "within 20s", "--within 3m20s"},
		"very large":         {func(f *Facts) { f.Health.Cut, f.Within = true, 5*time.Minute }, Store, awp.CheckWarn, "within 5m0s", "--within 10m0s"},
		"store does not say": {func(f *Facts) { f.Health, f.Asked = nil, Words{Said: "hm"} }, Store, awp.CheckFail, "hm", "daemon.log"},
		"damage, no status":  {func(f *Facts) { f.Health.Problems, f.Status, f.Asked = []string{"page 7"}, nil, Words{Said: "hm"} }, Store, awp.CheckFail, "damaged: page 7", "backup"},
		"no status":          {func(f *Facts) { f.Status, f.Asked = nil, Words{Said: "hm"} }, Store, awp.CheckFail, "awp-store: hm", "daemon.log"},
		"disk full":          {func(f *Facts) { f.Place.Free = 1 << 20 }, Disk, awp.CheckFail, "1 MiB left", "free some"},
		"disk nearly full":   {func(f *Facts) { f.Place.Free = 100 << 20 }, Disk, awp.CheckWarn, "100 MiB left", "free some"},
		"inodes":             {func(f *Facts) { f.Place.Inodes = 3 }, Disk, awp.CheckWarn, "3 more files", "remove"},
		"disk unknown":       {func(f *Facts) { f.Place.Disk = "no" }, Disk, awp.CheckWarn, "no", "disk"},
		"clock never set":    {func(f *Facts) { f.Now = time.Unix(0, 0) }, Clock, awp.CheckFail, "1970", "timedatectl"},
		"clock went back":    {func(f *Facts) { f.Health.Newest = now.Add(time.Hour) }, Clock, awp.CheckWarn, "1h0m0s ahead", "timedatectl"},
		"ids ahead":          {func(f *Facts) { f.Health.Lease = now.Add(time.Hour) }, Clock, awp.CheckWarn, "1h0m0s ahead", "timedatectl"},
		"one peer ahead":     {func(f *Facts) { f.Health.Ahead = map[awp.Key]time.Duration{key: time.Hour} }, Clock, awp.CheckWarn, "is 1h0m0s ahead of ours", "compare"},
		"peers ahead":        {func(f *Facts) { f.Health.Ahead = map[awp.Key]time.Duration{key: time.Hour, {2}: time.Hour} }, Clock, awp.CheckWarn, "ours is behind", "timedatectl"},
		"relay": {func(f *Facts) {
			f.Status.TailcatEnabled, f.Status.Tailcat, f.Status.TailcatError = true, secret, "no "+secret
		}, Relay, awp.CheckFail, "no tc…", "network"},
		"relay with a hint": {func(f *Facts) {
			f.Status.TailcatEnabled, f.Status.TailcatError = true, "no answer (is it up?)"
			f.Status.Tailcat = "tcX"
		}, Relay, awp.CheckFail, "no answer", "is it up?"},
		"wire away": {func(f *Facts) { f.Status = &awp.Status{WireAway: true} }, Address, awp.CheckFail, "awp-wire is away", "daemon.log"},
		"listener":  {func(f *Facts) { f.Status.ListenErrors = []awp.ListenErr{{Address: "tcp:x", Error: "in use"}} }, Address, awp.CheckFail, "tcp:x: in use", "--listen"},
		"offload":   {func(f *Facts) { f.Status.TailcatEnabled, f.Status.Tailcat, f.Offload = true, secret, "X=0" }, Address, awp.CheckWarn, "X=0", "unset"},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			test.harm(&f)
			d := Judge(f)
			found := 0
			for _, c := range d.Checks {
				if strings.Contains(c.Detail+c.Fix, secret) {
					t.Errorf("an address: %+v", c)
				}
				if c.Status == awp.CheckOK {
					continue
				}
				if found++; c.Name != test.check || c.Status != test.status || !strings.Contains(c.Detail, test.detail) || !strings.Contains(c.Fix, test.fix) {
					t.Errorf("got %+v", c)
				}
			}
			if found != 1 || d.OK != (test.status == awp.CheckWarn) {
				t.Errorf("%d findings, ok %v: %+v", found, d.OK, d.Checks)
			}
		})
	}
}

// What cannot be asked is named, and found wrong once only.
func TestUnasked(t *testing.T) {
	down := Answer{Code: awp.Unreachable}
	for name, test := range map[string]struct {
		harm    func(*Facts)
		fails   string
		skipped string
	}{
		"no daemon": {func(f *Facts) {
			f.PID, f.Store, f.Wire, f.Status, f.Health = 0, down, down, nil, nil
			f.Place.Sockets = nil
		}, Daemon, "store relay address peers"},
		"disk hangs": {func(f *Facts) { f.Place = nil }, Home, "socket disk"},
		"no home": {func(f *Facts) {
			f.Place = &Place{Missing: true}
			f.PID, f.Store, f.Wire, f.Status, f.Health = 0, down, down, nil, nil
		}, Daemon, "socket store disk relay address peers"},
		"a file": {func(f *Facts) {
			f.Place = &Place{Trouble: Words{Said: "a file"}}
			f.PID, f.Store, f.Wire, f.Status, f.Health = 0, down, down, nil, nil
		}, Home, "socket daemon store disk relay address peers"},
		"wire is away":  {func(f *Facts) { f.Wire = Answer{Code: awp.Busy}; f.Status = &awp.Status{WireAway: true} }, Daemon, "relay address"},
		"store is away": {func(f *Facts) { f.Store = Answer{Code: awp.Busy}; f.Status, f.Health = nil, nil }, Daemon, "store relay address peers"},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			test.harm(&f)
			d := Judge(f)
			var fails []string
			for _, c := range d.Checks {
				if c.Status == awp.CheckFail {
					fails = append(fails, c.Name)
				}
			}
			if got := strings.Join(fails, " "); got != test.fails || d.OK {
				t.Errorf("fails %q, want %q", got, test.fails)
			}
			if got := strings.Join(d.Skipped, " "); got != test.skipped {
				t.Errorf("skipped %q, want %q", got, test.skipped)
			}
		})
	}
}

func TestPeers(t *testing.T) {
	seen := now.Add(-3 * time.Hour)
	addrs := []awp.PeerAddr{{Addr: "tcp:x"}}
	for name, test := range map[string]struct {
		peer        awp.Peer
		refused     string
		status      string
		detail, fix string
	}{
		"idle":             {awp.Peer{LastSeen: seen, Addrs: addrs}, "", awp.CheckOK, "", ""},
		"said bye":         {awp.Peer{LastSeen: seen, Addrs: addrs, Parked: true}, "", awp.CheckOK, "", ""},
		"bye and lines":    {awp.Peer{LastSeen: seen, Addrs: addrs, Parked: true, Outbox: 1}, "", awp.CheckFail, "said bye, and it is not dialed until there is something new; 1 line waits for it; last seen 3 hours ago", "awp connect"},
		"no address":       {awp.Peer{LastSeen: seen, Outbox: 2}, "", awp.CheckFail, "no address of it is known: it has to connect to us; 2 lines wait", "awp connect ADDRESS"},
		"no address, open": {awp.Peer{LastSeen: seen, OpenThreads: 1}, "", awp.CheckWarn, "no address", "awp connect ADDRESS"},
		"never seen":       {awp.Peer{Addrs: addrs, DialError: "timed out"}, "", awp.CheckWarn, "never seen, and its address does not answer: timed out", "address right"},
		"does not answer":  {awp.Peer{LastSeen: seen, Addrs: addrs, DialError: "timed out", Outbox: 1}, "", awp.CheckFail, "does not answer: timed out", "is awp up there"},
		"earlier error":    {awp.Peer{LastSeen: seen, Outbox: 1, Addrs: []awp.PeerAddr{{Addr: "tcp:x", LastErr: "no route"}}}, "", awp.CheckFail, "no route", "is awp up there"},
		"old error, idle":  {awp.Peer{LastSeen: seen, Addrs: []awp.PeerAddr{{Addr: "tcp:x", LastErr: "no route"}}}, "", awp.CheckOK, "", ""},
		"turned us away":   {awp.Peer{LastSeen: seen, Addrs: addrs, DialError: "peer sent err auth: not admitted"}, "", awp.CheckWarn, "it turned us away", "allow this agent's key"},
		"turned away here": {awp.Peer{}, "not admitted by policy", awp.CheckWarn, "turned away here: not admitted", "policy.allow"},
		"not yet":          {awp.Peer{LastSeen: seen, Addrs: addrs, Outbox: 1}, "", awp.CheckWarn, "not connected yet", "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			p := test.peer
			p.Key, p.Name = awp.Key{1}, "bob@box"
			if test.refused != "" {
				f.Health.Refused = map[awp.Key]string{p.Key: test.refused}
			}
			f.Peers = []awp.Peer{p}
			for _, c := range Judge(f).Checks {
				if c.Name != Peer {
					continue
				}
				if c.Status != test.status || c.Peer != p.Key || !strings.Contains(c.Detail, test.detail) || !strings.Contains(c.Fix, test.fix) {
					t.Errorf("got %+v", c)
				}
				return
			}
			if test.status != awp.CheckOK {
				t.Error("not found")
			}
		})
	}
}

func TestManyPeers(t *testing.T) {
	f := well()
	for i := range 60 {
		f.Peers = append(f.Peers, awp.Peer{Key: awp.Key{byte(i)}, Outbox: 1})
	}
	d := Judge(f)
	if last := d.Checks[len(d.Checks)-1]; last.Name != Peers || last.Detail != "10 more are not reachable" || d.OK {
		t.Errorf("got %+v", last)
	}
}
