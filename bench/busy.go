package main

import (
	"fmt"
	"os"
	"runtime"
)

// busy says whether others keep this machine busy: then latencies of many hops grow, and
// floors of one do not.
func busy() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil || load < float64(runtime.NumCPU())/2 {
		return ""
	}
	return fmt.Sprintf(" (load %.1f on %d cores: the machine is busy)", load, runtime.NumCPU())
}
