package archtest

import (
	"path"
	"slices"
	"strings"
)

var (
	pure     = []string{"internal/handshake", "internal/link", "internal/thread", "internal/blob", "internal/grant", "internal/presence", "internal/doctor", "internal/render", "internal/ndjson"}
	adapters = []string{"internal/store", "internal/transport", "internal/activation", "internal/config", "internal/supervise"}
)

// importLaws are about who names whom.
var importLaws = []law{
	{"awp imports the standard library only", "the vocabulary belongs to every program, so it must weigh nothing and depend on nobody", only([]string{"."})},
	{"wire imports awp, the bounded reader and ulid only", "other programs are written against it; the reader is ADR 0001", only([]string{"wire"}, "./.", "./internal/ndjson", "github.com/oklog/ulid/v2")},
	{"ipc imports awp, the bounded reader and x/sys only", "other programs are written against it; what lies between hosts is not its business; the reader is ADR 0001", only([]string{"ipc"}, "./.", "./internal/ndjson", "golang.org/x/sys/unix")},
	{"conformance imports awp and wire only", "it judges peers by the protocol, so it must not lean on how this suite keeps to it; its connections are its caller's", only([]string{"conformance", "conformance/schema"}, "./.", "./wire", "./conformance/schema")},
	{"pure packages import awp and wire only", "a rule that can be tested alone depends on words and shapes, not on other rules", only(pure, "./.", "./wire")},
	{"pure packages do no input or output", "a rule that opens nothing can be tried against every order of events", never(pure, "net", "net/http", "os", "os/exec", "os/signal", "syscall", "database/sql", "log", "log/slog")},
	{"pure packages read no clock", "time is an argument: a test, or a replay, decides what time it is", noClock},
	{"adapters do not import each other, nor ipc", "each touches one technology, and can be replaced or tested without the others", apart},
	{"only glue imports adapters", "rules that reach for a technology cannot be tested without it", glued},
	{"glue imports no other glue", "a program's start-up that needs another program's is one program", sole},
	{"nothing imports a program, the tests of the suite, or the laws", "they are ends: whatever they need lies below them", ends},
	{"only internal/activation imports go-systemd", "there is one way to get a socket", onlyIn("github.com/coreos/go-systemd", "internal/activation")},
	{"only internal/store imports SQLite", "one opener of the database, so that one package answers for what is on disk", onlyIn("modernc.org/sqlite", "internal/store", "internal/world")},
	{"only internal/transport/tailcat imports tailcat", "it promises no stability, and its addresses are secrets", onlyIn("github.com/tailscale/tailcat", "internal/transport/tailcat")},
	{"encoding/json (v1) is imported in tests only", "v1 takes duplicate members and any case of a name: two readers of one line would disagree", onlyIn("encoding/json$")},
}

// only: the packages may import the standard library and what is listed.
func only(dirs []string, allowed ...string) func(*tree) []string {
	return func(t *tree) (breaches []string) {
		t.imports(func(p *pkg, f *file, imported string) {
			if slices.Contains(dirs, p.dir) && !isStd(imported) && !slices.Contains(allowed, imported) {
				breaches = append(breaches, f.name+" imports "+imported)
			}
		})
		return breaches
	}
}

// never: the packages may not import what is listed.
func never(dirs []string, forbidden ...string) func(*tree) []string {
	return func(t *tree) (breaches []string) {
		t.imports(func(p *pkg, f *file, imported string) {
			if under(p.dir, dirs...) && slices.Contains(forbidden, imported) {
				breaches = append(breaches, f.name+" imports "+imported)
			}
		})
		return breaches
	}
}

// onlyIn: what is imported, or anything below it, may be imported below dirs only. A
// final $ means the package itself and nothing below it.
func onlyIn(imported string, dirs ...string) func(*tree) []string {
	exact, isExact := strings.CutSuffix(imported, "$")
	return func(t *tree) (breaches []string) {
		t.imports(func(p *pkg, f *file, imp string) {
			match := imp == exact || (!isExact && under(imp, imported))
			if match && !under(p.dir, dirs...) {
				breaches = append(breaches, f.name+" imports "+imp)
			}
		})
		return breaches
	}
}

// adapter returns which adapter the directory belongs to, or nothing.
func adapter(dir string) string {
	for _, root := range adapters {
		if under(strings.TrimPrefix(dir, "./"), root) {
			return root
		}
	}
	return ""
}

func isGlue(dir string) bool {
	return path.Dir(dir) == "internal" && strings.HasSuffix(dir, "cmd")
}

func isProgram(dir string) bool { return under(dir, "cmd") }

func apart(t *tree) (breaches []string) {
	t.imports(func(p *pkg, f *file, imported string) {
		from, to := adapter(p.dir), adapter(imported)
		if from != "" && (imported == "./ipc" || to != "" && to != from) {
			breaches = append(breaches, f.name+" imports "+imported)
		}
	})
	return breaches
}

// glued lets bench in: it fills a store of a million messages by the store's own code,
// under the home's lock, which is what awp-store would do with them, and it is the bare
// end of a tunnel that links are held against.
func glued(t *tree) (breaches []string) {
	t.imports(func(p *pkg, f *file, imported string) {
		if p.dir == "bench" && (imported == "./internal/store" || imported == "./internal/transport/tailcat") {
			return
		}
		if adapter(imported) != "" && adapter(p.dir) == "" && !isGlue(p.dir) && !isProgram(p.dir) {
			breaches = append(breaches, f.name+" imports "+imported)
		}
	})
	return breaches
}

func sole(t *tree) (breaches []string) {
	t.imports(func(p *pkg, f *file, imported string) {
		if isGlue(strings.TrimPrefix(imported, "./")) && !isProgram(p.dir) {
			breaches = append(breaches, f.name+" imports "+imported)
		}
	})
	return breaches
}

func ends(t *tree) (breaches []string) {
	t.imports(func(p *pkg, f *file, imported string) {
		if under(imported, "./cmd", "./internal/suite", "./internal/archtest") {
			breaches = append(breaches, f.name+" imports "+imported)
		}
	})
	return breaches
}
