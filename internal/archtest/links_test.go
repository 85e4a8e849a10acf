package archtest

import (
	"path"
	"slices"
	"strings"
)

// linkLaws are about what ends up in a program, by whatever way, on Linux and on macOS.
var linkLaws = []law{
	{"tailcat is linked into awp-wire only", "one program speaks with the network, and it has neither the database nor the key", linkedInto("tailcat", "awp-wire")},
	{"SQLite is linked into awp-store, and awp-world, only", "who parses strangers' bytes must not be able to open the database", linkedInto("modernc.org/sqlite", "awp-store", "awp-world")},
	{"the MCP SDK is linked into awp-mcp only", "it is large, and its reader has no bound", linkedInto("modelcontextprotocol", "awp-mcp")},
	{"the front command, the store, presence and serve link no net/http", "who is promised to stay off the network does not carry a web client", notLinkedInto("net/http", "awp", "awp-store", "awp-presence", "awp-serve")},
	{"the front command links no crypto/tls", "it starts after every thought of an agent: what it links is paid each time", notLinkedInto("crypto/tls", "awp")},
	{"the front command, the store, presence and serve link no html/template", "pages are awp-web's", notLinkedInto("html/template", "awp", "awp-store", "awp-presence", "awp-serve")},
	{"none of our packages in awp-wire starts programs", "it parses strangers' bytes; tailcat links os/exec (ADR 0012), and its sandbox forbids what we do not do", startsNothing("cmd/awp-wire")},
	{"none of our packages in awp-store starts programs", "SQLite's C library links os/exec; we do not use it", startsNothing("cmd/awp-store")},
}

// linkedInto: what has the word in its path may be linked into these programs only.
func linkedInto(word string, programs ...string) func(*tree) []string {
	return func(t *tree) (breaches []string) {
		for dir, deps := range t.deps {
			if i := slices.IndexFunc(deps, func(dep string) bool { return strings.Contains(dep, word) }); i >= 0 && !slices.Contains(programs, path.Base(dir)) {
				breaches = append(breaches, dir+" links "+deps[i])
			}
		}
		return breaches
	}
}

// notLinkedInto: the package may not be linked into these programs.
func notLinkedInto(dep string, programs ...string) func(*tree) []string {
	return func(t *tree) (breaches []string) {
		for dir, deps := range t.deps {
			if slices.Contains(programs, path.Base(dir)) && slices.Contains(deps, dep) {
				breaches = append(breaches, dir+" links "+dep)
			}
		}
		return breaches
	}
}

func startsNothing(program string) func(*tree) []string {
	return func(t *tree) (breaches []string) {
		linked := t.deps[program]
		t.imports(func(p *pkg, f *file, imported string) {
			if imported == "os/exec" && slices.Contains(linked, "./"+p.dir) {
				breaches = append(breaches, f.name+" imports os/exec")
			}
		})
		return breaches
	}
}
