package awpcmd

import (
	"strings"

	"github.com/spf13/pflag"
)

// liftKeyPrefixes rewrites args so that pflag takes a key prefix that begins with "-" for
// the positional it is. The body of one key in 64 begins so, and short keys are what awp
// itself prints for peers without a name.
//
// An argument of a dash and at least 5 characters of base64url is such a prefix unless it
// is a flag, begins with the letter of one, or is the value of the flag before it. With
// two dashes it looks just like a mistyped flag; there it must stand where the command
// takes a peer, and is returned as dashed.
func liftKeyPrefixes(flags *pflag.FlagSet, args []string) (lifted []string, dashed string) {
	var flagArgs, rest []string
	found := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		f, defined := lookup(flags, arg)
		switch {
		case defined:
			flagArgs = append(flagArgs, arg)
			if takesNext(f, arg) && i+1 < len(args) {
				i++
				flagArgs = append(flagArgs, args[i])
			}
		case isKeyPrefix(arg) && (arg[1] != '-' || len(rest) == 0):
			found = true
			rest = append(rest, arg)
			if arg[1] == '-' {
				dashed = arg
			}
		case strings.HasPrefix(arg, "-") && arg != "-":
			flagArgs = append(flagArgs, arg) // pflag has the words for what is wrong with it
		default:
			rest = append(rest, arg)
		}
	}
	if !found {
		return args, ""
	}
	return append(append(flagArgs, "--"), rest...), dashed
}

func isKeyPrefix(arg string) bool {
	if len(arg) < 6 || arg[0] != '-' {
		return false
	}
	for i := 1; i < len(arg); i++ {
		switch c := arg[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// lookup finds the flag that arg sets: by its name, or by the letter it begins with.
func lookup(flags *pflag.FlagSet, arg string) (*pflag.Flag, bool) {
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, _ = strings.Cut(name, "=")
		f := flags.Lookup(name)
		return f, f != nil
	}
	if len(arg) < 2 || arg[0] != '-' || arg[1] >= 0x80 {
		return nil, false
	}
	f := flags.ShorthandLookup(arg[1:2])
	return f, f != nil
}

// takesNext reports whether the value of f, which arg sets, is the argument after it.
func takesNext(f *pflag.Flag, arg string) bool {
	if f.NoOptDefVal != "" { // a switch
		return false
	}
	if strings.HasPrefix(arg, "--") {
		return !strings.Contains(arg, "=")
	}
	return len(arg) == 2
}
