package archtest

import (
	"slices"
	"strings"
	"testing"
)

// broken has, for each law, a small tree that breaks it: file names and what they hold.
// A law that notices nothing would be worth nothing, and nobody would see.
var broken = map[string][]source{
	"awp imports the standard library only":                                        {{"awp.go", "awp", imports(module + "/wire")}},
	"wire imports awp, the bounded reader and ulid only":                           {{"wire/a.go", "wire", imports(module + "/ipc")}},
	"ipc imports awp, the bounded reader and x/sys only":                           {{"ipc/a_darwin.go", "ipc", imports(module + "/wire")}},
	"conformance imports awp and wire only":                                        {{"conformance/a.go", "conformance", imports(module + "/internal/link")}},
	"pure packages import awp and wire only":                                       {{"internal/link/a.go", "link", imports(module + "/internal/thread")}},
	"pure packages do no input or output":                                          {{"internal/thread/a.go", "thread", imports("os")}},
	"pure packages read no clock":                                                  {{"internal/blob/a.go", "blob", "import t \"time\"\nvar _ = t.Now"}},
	"adapters do not import each other, nor ipc":                                   {{"internal/transport/tailcat/a.go", "tailcat", imports(module + "/internal/config")}},
	"only glue imports adapters":                                                   {{"internal/render/a.go", "render", imports(module + "/internal/store")}},
	"glue imports no other glue":                                                   {{"internal/awpcmd/a.go", "awpcmd", imports(module + "/internal/daemoncmd")}},
	"nothing imports a program, the tests of the suite, or the laws":               {{"wire/a.go", "wire", imports(module + "/internal/suite")}},
	"only internal/activation imports go-systemd":                                  {{"cmd/awp/main.go", "main", imports("github.com/coreos/go-systemd/v22/daemon")}},
	"only internal/store imports SQLite":                                           {{"internal/awpcmd/a.go", "awpcmd", imports("modernc.org/sqlite")}},
	"only internal/transport/tailcat imports tailcat":                              {{"internal/transport/a.go", "transport", imports("github.com/tailscale/tailcat")}},
	"encoding/json (v1) is imported in tests only":                                 {{"ipc/a.go", "ipc", imports("encoding/json")}},
	"tailcat is linked into awp-wire only":                                         {{"deps", "cmd/awp", "./internal/transport/tailcat"}},
	"SQLite is linked into awp-store, and awp-world, only":                         {{"deps", "cmd/awp-wire", "modernc.org/sqlite/lib"}},
	"the MCP SDK is linked into awp-mcp only":                                      {{"deps", "cmd/awp", "github.com/modelcontextprotocol/go-sdk/mcp"}},
	"the front command, the store, presence and serve link no net/http":            {{"deps", "cmd/awp", "net/http"}},
	"the front command links no crypto/tls":                                        {{"deps", "cmd/awp", "crypto/tls"}},
	"the front command, the store, presence and serve link no html/template":       {{"deps", "cmd/awp-serve", "html/template"}},
	"none of our packages in awp-wire starts programs":                             {{"deps", "cmd/awp-wire", "./internal/wirecmd"}, {"internal/wirecmd/a.go", "wirecmd", imports("os/exec")}},
	"none of our packages in awp-store starts programs":                            {{"deps", "cmd/awp-store", "./internal/store"}, {"internal/store/a.go", "store", imports("os/exec")}},
	"every package has one package comment":                                        {{"internal/x/a.go", "x", ""}},
	"no package has a vague name":                                                  {{"internal/x/a_test.go", "helpers", ""}},
	"no file is over 600 lines":                                                    {{"internal/x/a.go", "x", strings.Repeat("\n", hardLines+1)}},
	"a program's main file begins with its manual page":                            {{"cmd/awp/main.go", "main", ""}},
	"a program's main file has at most 60 lines of code":                           {{"cmd/awp/main.go", "main", "var _ = []int{\n" + strings.Repeat("1,\n", mainLines) + "}"}},
	"LISTEN_FDS is read in internal/activation and set in internal/supervise only": {{"internal/awpcmd/a.go", "awpcmd", `const env = "LISTEN_FDS"`}},
	"no iota in wire, ipc and store":                                               {{"internal/store/rows.go", "store", "const a = iota + 1"}},
}

// source is a file, the package it is of, and what follows; or, with the name deps, that
// a program links something.
type source struct{ name, pkg, body string }

func imports(what string) string { return "import _ \"" + what + "\"\n" }

func TestLawsNotice(t *testing.T) {
	for _, l := range allLaws() {
		t.Run(l.says, func(t *testing.T) {
			tree := fabricate(t, broken[l.says])
			if len(l.breaches(tree)) == 0 {
				t.Error("the law does not notice")
			}
			if l.why == "" {
				t.Error("no reason is given")
			}
		})
	}
	for says := range broken {
		if !slices.ContainsFunc(allLaws(), func(l law) bool { return l.says == says }) {
			t.Errorf("no law says: %s", says)
		}
	}
}

func fabricate(t *testing.T, sources []source) *tree {
	t.Helper()
	files := make(map[string][]byte)
	deps := make(map[string][]string)
	for _, s := range sources {
		if s.name == "deps" {
			deps[s.pkg] = append(deps[s.pkg], s.body)
			continue
		}
		files[s.name] = []byte("package " + s.pkg + "\n\n" + s.body + "\n")
	}
	tree, err := newTree(files)
	if err != nil {
		t.Fatal(err)
	}
	tree.deps = deps
	return tree
}

// The laws name packages; a package that was renamed must not slip out of its laws.
func TestLawsKnowTheirPackages(t *testing.T) {
	tree, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range slices.Concat(pure, adapters, []string{".", "wire", "ipc"}) {
		if tree.pkgs[dir] == nil && dir != "internal/presence" { // to come
			t.Errorf("no package in %s", dir)
		}
	}
	for _, program := range []string{"cmd/awp", "cmd/awp-store", "cmd/awp-wire"} {
		if !slices.Contains(tree.deps[program], "./ipc") {
			t.Errorf("%s links no ipc: is it still asked about?", program)
		}
	}
}

func TestCodeLines(t *testing.T) {
	for text, want := range map[string]int{
		"// only\n// comments\npackage p\n":              1,
		"package p\n\n\n// x\nvar a, b = 1, /* y */ 2\n": 2,
		"package p\nconst a = `1\n2\n3`\n":               4,
		"package p\nfunc f() {\n\n\t// x\n}\n":           3,
	} {
		if got := codeLines([]byte(text)); got != want {
			t.Errorf("%q: %d lines, want %d", text, got, want)
		}
	}
}
