package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is one result.
type figure struct {
	Bench  string  `json:"bench"`
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Floor  float64 `json:"floor,omitzero"` // in Unit
	Of     string  `json:"floor_of,omitzero"`
	Ratio  float64 `json:"ratio,omitzero"` // Value to Floor
	Target string  `json:"target,omitzero"`
	Over   bool    `json:"over_target,omitzero"`
}

func (b *bench) add(f figure) {
	if f.Floor > 0 && f.Ratio == 0 {
		f.Ratio = f.Value / f.Floor
	}
	b.figures = append(b.figures, f)
}

// atMost holds the value against a target.
func (f figure) atMost(limit float64) figure {
	f.Target, f.Over = fmt.Sprintf("≤ %s %s", number(limit), f.Unit), f.Value > limit
	return f
}

func (f figure) atLeast(limit float64) figure {
	f.Target, f.Over = fmt.Sprintf("≥ %s %s", number(limit), f.Unit), f.Value < limit
	return f
}

// table is the figures for people.
func table(figures []figure) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BENCH\tWHAT\tMEASURED\tFLOOR\tRATIO\tTARGET\t")
	for _, f := range figures {
		floor, ratio, mark := "", "", ""
		if f.Floor > 0 {
			floor = strings.TrimSpace(fmt.Sprintf("%s %s %s", number(f.Floor), f.Unit, f.Of))
			ratio = number(f.Ratio)
		}
		switch {
		case f.Over:
			mark = "OVER TARGET"
		case f.Target != "":
			mark = "ok"
		}
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\t%s\t%s\n", f.Bench, f.Name, number(f.Value), f.Unit, floor, ratio, f.Target, mark)
	}
	w.Flush() //nolint:errcheck // into memory
	return b.String()
}

// number writes x with three digits that count.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// median returns the middle of xs, which it sorts.
func median[T int64 | float64 | time.Duration](xs []T) T { return quantile(xs, 0.5) }

func quantile[T int64 | float64 | time.Duration](xs []T, q float64) T {
	slices.Sort(xs)
	return xs[min(len(xs)-1, int(q*float64(len(xs))))]
}

// millis is a duration in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
