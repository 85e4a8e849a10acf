package render

import (
	"fmt"
	"strings"

	"github.com/awp-suite/awp"
)

// Diagnosis appends what doctor found, one line a check, the fix beneath, and a last line
// that sums it up.
func Diagnosis(b []byte, d awp.Diagnosis) []byte {
	failed, odd := 0, 0
	for _, c := range d.Checks {
		status := c.Status
		switch status {
		case awp.CheckFail:
			failed++
			status = "FAIL"
		case awp.CheckWarn:
			odd++
		}
		b = fmt.Appendf(b, "%-4s  %-8s  %s\n", status, c.Name, Line(c.Detail))
		if c.Fix != "" {
			b = fmt.Appendf(b, "                fix: %s\n", Line(c.Fix))
		}
	}
	if len(d.Skipped) > 0 {
		b = fmt.Appendf(b, "not looked at: %s\n", strings.Join(d.Skipped, ", "))
	}
	switch {
	case failed > 0:
		return fmt.Appendf(b, "wrong: %d, odd: %d\n", failed, odd)
	case odd > 0:
		return fmt.Appendf(b, "nothing is wrong; odd: %d\n", odd)
	}
	return append(b, "nothing is wrong\n"...)
}
