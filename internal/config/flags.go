package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Flags are the settings that `awp daemon` and `awp up` take on the command line. A zero
// field was not given.
type Flags struct {
	Name      string
	About     string
	Harness   string
	Model     string
	ShareWith []string // keys
	Listen    []string
	NoTailcat bool // takes tailcat off the list, wherever that came from
	Advertise string
	Accept    string
	Allow     []string
	Trust     []string
	Serve     []string
	Root      string
	Presence  bool
	Trace     bool
	Verbose   bool
}

// Environ returns the flags as environment assignments on top of env, which is
// [os.Getenv] or stands in for it. The programs of a home load their settings each for
// itself: so whatever the flags say must reach them, and win over what env says.
//
// A relative root, of a flag or in env, comes out absolute: the programs may run
// elsewhere.
func (f Flags) Environ(env func(string) string) ([]string, error) {
	var out []string
	set := func(name, val string) {
		if val != "" {
			out = append(out, name+"="+val)
		}
	}
	join := func(name string, before string, vals []string) error {
		for _, v := range vals {
			if strings.Contains(v, ",") {
				return fmt.Errorf("%q: a comma cannot be part of a listed flag; use %s", v, FileName)
			}
		}
		if len(vals) > 0 {
			set(name, strings.Trim(before+","+strings.Join(vals, ","), ","))
		}
		return nil
	}
	one := func(name string, given bool) {
		if given {
			set(name, "1")
		}
	}
	set("AWP_NAME", f.Name)
	set("AWP_ABOUT", f.About)
	set("AWP_HARNESS", f.Harness)
	set("AWP_MODEL", f.Model)
	set("AWP_ADVERTISE", f.Advertise)
	set("AWP_ACCEPT", f.Accept)
	one("AWP_PRESENCE", f.Presence)
	one("AWP_TRACE", f.Trace)
	one(envVerbose, f.Verbose)
	one(envNoTailcat, f.NoTailcat)
	for _, l := range []struct {
		name, before string
		vals         []string
	}{
		{"AWP_SHARE_WITH", "", f.ShareWith},
		{"AWP_LISTEN", "", f.Listen},
		{"AWP_SERVE", "", f.Serve},
		{"AWP_ALLOW", env("AWP_ALLOW"), f.Allow}, // these two add
		{"AWP_TRUST", env("AWP_TRUST"), f.Trust},
	} {
		if err := join(l.name, l.before, l.vals); err != nil {
			return nil, err
		}
	}
	root := f.Root
	if root == "" {
		root = strings.TrimSpace(env("AWP_ROOT"))
	}
	if root != "" {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("root: %w", err)
		}
		set("AWP_ROOT", abs)
	}
	return out, nil
}
