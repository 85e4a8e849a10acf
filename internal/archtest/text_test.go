package archtest

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	softLines = 400
	hardLines = 600
	mainLines = 60
)

// manual is what a program's main file begins with, in this order.
var manual = []string{"NAME", "DESCRIPTION", "SOCKETS", "STATE", "SECURITY", "FAILURE"}

var vague = []string{"util", "utils", "helper", "helpers", "common", "types", "base", "misc"}

// textLaws are about how the source reads.
var textLaws = []law{
	{"every package has one package comment", "it says what the package is and what it never does; two would drift apart", commented},
	{"no package has a vague name", "a name that fits anything collects everything", named},
	{"no file is over 600 lines", "one idea a file", short},
	{"a program's main file begins with its manual page", "whoever audits a program starts here: sockets, state, rights, failure", manualPage},
	{"a program's main file has at most 60 lines of code", "start-up is an importable package, so that a test can run it", shortMain},
	{"LISTEN_FDS is read in internal/activation and set in internal/supervise only", "there is one way to get a socket", onlyActivation},
	{"no iota in wire, ipc and store", "numbers that leave a process are written out: a line moved up must not renumber them", noIota},
}

func commented(t *tree) (breaches []string) {
	for dir, p := range t.pkgs {
		somewhere := false
		everywhere := make(map[string]bool) // comments of files that are built anyhow
		for _, f := range p.files {
			doc := f.syntax.Doc.Text()
			somewhere = somewhere || doc != ""
			if doc != "" && !bytes.HasPrefix(f.source, []byte("//go:build")) {
				everywhere[doc] = true
			}
		}
		switch {
		case !somewhere:
			breaches = append(breaches, dir+" has no package comment")
		case len(everywhere) > 1:
			breaches = append(breaches, dir+" has several package comments")
		}
	}
	return breaches
}

func named(t *tree) (breaches []string) {
	for dir, p := range t.pkgs {
		for _, f := range slices.Concat(p.files, p.tests) {
			name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
			if slices.Contains(vague, name) || slices.Contains(vague, path.Base(dir)) {
				breaches = append(breaches, dir+" is package "+name)
			}
		}
	}
	return breaches
}

func short(t *tree) (breaches []string) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if n := bytes.Count(f.source, []byte("\n")); n > hardLines {
				breaches = append(breaches, fmt.Sprintf("%s has %d lines", f.name, n))
			}
		}
	}
	return breaches
}

// TestLongFiles warns of files that grow; it never fails.
func TestLongFiles(t *testing.T) {
	tree, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tree.pkgs {
		for _, f := range p.files {
			if n := bytes.Count(f.source, []byte("\n")); n > softLines {
				t.Logf("%s has %d lines: soon two files", f.name, n)
			}
		}
	}
}

// mains calls fn for the main file of each program.
func (t *tree) mains(fn func(*file)) {
	for dir, p := range t.pkgs {
		for _, f := range p.files {
			if path.Dir(dir) == "cmd" && path.Base(f.name) == "main.go" {
				fn(f)
			}
		}
	}
}

func manualPage(t *tree) (breaches []string) {
	for dir, p := range t.pkgs {
		if path.Dir(dir) == "cmd" && !slices.ContainsFunc(p.files, func(f *file) bool { return f.name == dir+"/main.go" }) {
			breaches = append(breaches, dir+" has no main.go")
		}
	}
	t.mains(func(f *file) {
		missing := manual
		for line := range strings.Lines(f.syntax.Doc.Text()) {
			if head := strings.TrimPrefix(strings.TrimSpace(line), "# "); len(missing) > 0 && head == missing[0] {
				missing = missing[1:]
			}
		}
		if len(missing) > 0 {
			breaches = append(breaches, f.name+": no section "+missing[0]+" where it is due")
		}
		if !bytes.HasPrefix(f.source, []byte("// NAME\n")) && !bytes.HasPrefix(f.source, []byte("// # NAME\n")) {
			breaches = append(breaches, f.name+" does not begin with NAME")
		}
	})
	return breaches
}

func shortMain(t *tree) (breaches []string) {
	t.mains(func(f *file) {
		if n := codeLines(f.source); n > mainLines {
			breaches = append(breaches, fmt.Sprintf("%s has %d lines of code", f.name, n))
		}
	})
	return breaches
}

// codeLines counts the lines that are neither blank nor only a comment.
func codeLines(source []byte) int {
	var s scanner.Scanner
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(source))
	s.Init(f, source, nil, 0) // without comments
	n, last := 0, 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		first := f.Line(pos)
		end := first + strings.Count(text, "\n")
		if tok == token.SEMICOLON {
			end = first // one that stands for the end of the line
		}
		n += max(0, end-max(last, first-1))
		last = max(last, end)
	}
}
