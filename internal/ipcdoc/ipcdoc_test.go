package main

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func generated(t *testing.T) (root string, text []byte) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if text, err = generate(root); err != nil {
		t.Fatal(err)
	}
	return root, text
}

func TestDocumentIsFresh(t *testing.T) {
	root, want := generated(t)
	got, err := os.ReadFile(filepath.Join(root, "doc", "ipc.md"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("doc/ipc.md is stale (%v); rewrite it: go generate ./ipc", err)
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	_, text := generated(t)
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllSubmatch(text, -1) {
		if anchor := []byte(`<a id="` + string(link[1]) + `">`); bytes.Count(text, anchor) != 1 {
			t.Errorf("a link to #%s finds %d places", link[1], bytes.Count(text, anchor))
		}
	}
}

// Every variable that is a method is in the document, with a comment, and every field
// that travels has a name.
func TestDocumentIsComplete(t *testing.T) {
	root, text := generated(t)
	src, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(root, "ipc", f.name))
		if err != nil {
			t.Fatal(err)
		}
		source += string(b)
	}
	declared := len(regexp.MustCompile(`(?m)^var \w+ = (Method|Stream|Note)\[`).FindAllString(source, -1))
	names := make(map[string]bool)
	for _, sec := range src.sections {
		for _, m := range sec.methods {
			if names[m.name] {
				t.Errorf("two methods are called %s", m.name)
			}
			names[m.name] = true
			if !strings.HasPrefix(m.doc, m.goName+" ") {
				t.Errorf("the comment of ipc.%s does not begin with its name", m.goName)
			}
			if !bytes.Contains(text, []byte("`"+m.name+"`")) {
				t.Errorf("%s is missing", m.name)
			}
		}
	}
	if len(names) != declared || declared == 0 {
		t.Errorf("%d methods in the document, %d in the source", len(names), declared)
	}
	for _, r := range src.records {
		for _, f := range r.fields {
			if _, selector := f.typ.(*ast.SelectorExpr); f.name == "" && !selector {
				t.Errorf("%s has a field without a JSON name", r.name)
			}
		}
	}
}
