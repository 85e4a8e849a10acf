package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// inspect calls fn for every node of the packages' files that are no tests.
func (t *tree) inspect(in func(dir string) bool, fn func(f *file, n ast.Node)) {
	for dir, p := range t.pkgs {
		if !in(dir) {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				fn(f, n)
				return true
			})
		}
	}
}

func onlyActivation(t *tree) (breaches []string) {
	elsewhere := func(dir string) bool { return !under(dir, "internal/activation", "internal/supervise") }
	t.inspect(elsewhere, func(f *file, n ast.Node) {
		if lit, ok := n.(*ast.BasicLit); ok && strings.Contains(lit.Value, "LISTEN_FDS") {
			breaches = append(breaches, t.at(lit)+" says LISTEN_FDS")
		}
	})
	return breaches
}

func noIota(t *tree) (breaches []string) {
	durable := func(dir string) bool { return under(dir, "wire", "ipc", "internal/store") }
	t.inspect(durable, func(f *file, n ast.Node) {
		if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
			breaches = append(breaches, t.at(id)+" says iota")
		}
	})
	return breaches
}

// clock lists what of package time reads the clock or waits for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func noClock(t *tree) (breaches []string) {
	t.inspect(func(dir string) bool { return under(dir, pure...) }, func(f *file, n ast.Node) {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(clock, sel.Sel.Name) {
			return
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == importName(f.syntax, "time") {
			breaches = append(breaches, t.at(sel)+" uses time."+sel.Sel.Name)
		}
	})
	return breaches
}

// importName returns what a file calls the package with this path, or nothing.
func importName(f *ast.File, imported string) string {
	for _, spec := range f.Imports {
		if spec.Path.Value == `"`+imported+`"` {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(imported)
		}
	}
	return ""
}
