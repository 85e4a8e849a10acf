package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/awp-suite/awp"
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

// flag is a flag that was given, on its way to the programs.
type flag struct {
	name   string // as people type it
	env    string // the variable that it travels in
	values []string
	list   bool // written with commas between the values
	adds   bool // to what the variable says already
}

// given returns the flags that were given, but for the root, which is a path.
func (f Flags) given() []flag {
	var all []flag
	text := func(name, env, value string) {
		if value != "" {
			all = append(all, flag{name: name, env: env, values: []string{value}})
		}
	}
	yes := func(name, env string, given bool) {
		if given {
			text(name, env, "1")
		}
	}
	list := func(name, env string, values []string, adds bool) {
		if len(values) > 0 {
			all = append(all, flag{name, env, values, true, adds})
		}
	}
	text("--name", "AWP_NAME", f.Name)
	text("--about", "AWP_ABOUT", f.About)
	text("--harness", "AWP_HARNESS", f.Harness)
	text("--model", "AWP_MODEL", f.Model)
	text("--advertise", "AWP_ADVERTISE", f.Advertise)
	text("--accept", "AWP_ACCEPT", f.Accept)
	yes("--presence", "AWP_PRESENCE", f.Presence)
	yes("--trace", "AWP_TRACE", f.Trace)
	yes("--verbose", envVerbose, f.Verbose)
	yes("--no-tailcat", envNoTailcat, f.NoTailcat)
	list("--share-with", "AWP_SHARE_WITH", f.ShareWith, false)
	list("--listen", "AWP_LISTEN", f.Listen, false)
	list("--serve", "AWP_SERVE", f.Serve, false)
	list("--allow", "AWP_ALLOW", f.Allow, true)
	list("--trust", "AWP_TRUST", f.Trust, true)
	return all
}

// Check judges the flags as [Load] would. There a slip would be blamed on a variable that
// nobody set.
func (f Flags) Check() error {
	table := new(Settings).table("/")
	for _, g := range f.given() {
		for _, v := range g.values {
			if g.list && strings.Contains(v, ",") {
				return &awp.Error{
					Code:    awp.Invalid,
					Message: fmt.Sprintf("%s: %q has a comma, which stands between values", g.name, clip(v)),
					Hint:    "write it in " + FileName,
				}
			}
		}
		i := slices.IndexFunc(table, func(row setting) bool { return row.env == g.env })
		text := strings.TrimSpace(strings.Join(g.values, ","))
		if i < 0 || text == "" { // a switch that is no setting; a blank, which Load skips
			continue
		}
		if bad := table[i].judge(text); bad != nil {
			return &awp.Error{
				Code:    awp.Invalid,
				Message: fmt.Sprintf("%s: got %q, want %s", g.name, clip(bad.got), table[i].want),
				Hint:    "correct the flag, or leave it out",
				Cause:   bad.cause,
			}
		}
	}
	return nil
}

// Environ returns the flags as environment assignments on top of env, which is
// [os.Getenv] or stands in for it. The programs of a home load their settings each for
// itself: so whatever the flags say must reach them, and win over what env says.
//
// A relative root, of a flag or in env, comes out absolute: the programs may run
// elsewhere.
func (f Flags) Environ(env func(string) string) ([]string, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	var out []string
	for _, g := range f.given() {
		text := strings.Join(g.values, ",")
		if g.adds {
			text = strings.Trim(env(g.env)+","+text, ",")
		}
		out = append(out, g.env+"="+text)
	}
	root := f.Root
	if root == "" {
		root = strings.TrimSpace(env("AWP_ROOT"))
	}
	if root != "" {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("root: %v", err), Hint: "use an absolute path", Cause: err}
		}
		out = append(out, "AWP_ROOT="+abs)
	}
	return out, nil
}
