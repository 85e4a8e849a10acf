package conformance

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/awp-suite/awp/wire"
)

// Options are a run's. Either Dial or Conn is set.
type Options struct {
	Dial  func(context.Context) (net.Conn, error) // connect mode: a fresh connection to the peer
	Conn  net.Conn                                // listen mode: the one connection, and solo scenarios are skipped
	Only  []string                                // names of scenarios; none: all
	Trace func(scenario, dir, line string)        // sees every line as it goes, cut to 500 bytes; may be nil
	Step  time.Duration                           // for each thing waited for; 0: 15 s
	// Prompt makes the peer send us, whose key is given, a message. Without it scenarios
	// that need one are skipped.
	Prompt func(ctx context.Context, key, text string) error
}

// Peer is what the peer's hello said.
type Peer struct {
	Key   string   `json:"key"`
	Name  string   `json:"name"`
	About string   `json:"about"`
	V     int      `json:"v"`
	Caps  []string `json:"caps"`
}

// The statuses of a [Result].
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Check is something that was looked at.
type Check struct {
	OK   bool   `json:"ok"`
	What string `json:"what"`
}

// Result is a scenario's.
type Result struct {
	Name    string   `json:"name"`
	Section string   `json:"section"`
	Doc     string   `json:"doc"`
	Status  string   `json:"status"`
	Reason  string   `json:"reason,omitzero"` // of a failure or skip
	Checks  []Check  `json:"checks"`
	Lines   []string `json:"lines"` // "> " sent or "< " received, the last 60, cut to 500 bytes
}

// Report is a run's.
type Report struct {
	Mode     string   `json:"mode"` // "connect" or "listen"
	Addr     string   `json:"addr"` // the caller's to fill in
	Peer     Peer     `json:"peer"`
	Results  []Result `json:"results"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Skipped  int      `json:"skipped"`
	Duration int64    `json:"duration"` // nanoseconds
}

// DefaultStep bounds each wait of a scenario.
const DefaultStep = 15 * time.Second

// scenarioTime bounds a scenario as a whole.
const scenarioTime = 2 * time.Minute

// Run runs the scenarios one after another with a fresh key and calls each, if not nil,
// with every result as it comes. An error means that a name is unknown or ctx ended; a
// scenario that fails is none.
func Run(ctx context.Context, o Options, each func(Result)) (Report, error) {
	list, err := choose(o.Only)
	if err != nil {
		return Report{}, err
	}
	if o.Step == 0 {
		o.Step = DefaultStep
	}
	us, err := wire.NewIdentity(nil)
	if err != nil {
		return Report{}, err
	}
	r := &runner{o: o, us: us, ids: wire.NewIDs(time.Now, nil)}
	report := Report{Mode: "connect", Results: []Result{}}
	if o.Conn != nil {
		report.Mode = "listen"
	}
	start := time.Now()
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		res := r.run(ctx, s)
		switch res.Status {
		case Pass:
			report.Passed++
		case Fail:
			report.Failed++
		default:
			report.Skipped++
		}
		report.Results = append(report.Results, res)
		if each != nil {
			each(res)
		}
	}
	if r.shared != nil {
		r.shared.close()
	}
	report.Peer, report.Duration = r.peer, time.Since(start).Nanoseconds()
	return report, nil
}

func choose(only []string) ([]Scenario, error) {
	all := Scenarios()
	if len(only) == 0 {
		return all, nil
	}
	var list []Scenario
	for _, name := range only {
		found := false
		for _, s := range all {
			if s.Name == name {
				list, found = append(list, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("run scenarios: no scenario %q", name)
		}
	}
	return list, nil
}

type runner struct {
	o      Options
	us     wire.Identity
	ids    *wire.IDs
	peer   Peer
	shared *conn // of listen mode, once greeted
}

// stop ends a scenario from within.
type stop struct{ status, reason string }

func (r *runner) run(ctx context.Context, s Scenario) (res Result) {
	ctx, cancel := context.WithTimeout(ctx, scenarioTime)
	defer cancel()
	t := &trial{r: r, ctx: ctx, name: s.Name, cap: s.Cap, us: r.us, checks: []Check{}, lines: []string{}}
	res = Result{Name: s.Name, Section: s.Section, Doc: s.Doc, Status: Pass}
	defer func() {
		for _, c := range t.conns {
			c.close()
		}
		if p := recover(); p != nil {
			end, ok := p.(stop)
			if !ok {
				panic(p)
			}
			res.Status, res.Reason = end.status, end.reason
		}
		t.mu.Lock()
		res.Checks, res.Lines = t.checks, t.lines
		t.mu.Unlock()
	}()
	if s.Solo && r.o.Conn != nil {
		t.skip("needs a connection of its own")
	}
	if s.Prompt && r.o.Prompt == nil {
		t.skip("needs a way to make the peer send: --send")
	}
	s.run(t)
	return res
}
