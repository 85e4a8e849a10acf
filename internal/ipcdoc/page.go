package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// page is the document while it is written.
type page struct {
	bytes.Buffer
	src  *source
	uses map[string]int // how often a record is referred to
	list []string       // records that get a place of their own
}

// examples are conversations of ipc/testdata that the document shows. They are true: the
// tests of package ipc play them.
var examples = []string{"call", "error", "stream", "lines_back", "skew_unequal"}

func generate(root string) ([]byte, error) {
	src, err := load(root)
	if err != nil {
		return nil, err
	}
	p := &page{src: src, uses: make(map[string]int)}
	p.count()
	p.line("# The protocol inside a host")
	p.line("Generated from package `ipc` by `go generate ./ipc`. Do not edit: change the comments there.")
	p.line("%s", markdown(strings.Replace(src.comment, "Package ipc is", "This is", 1)))
	p.facts("Names and limits", "name", "value", src.constants)
	p.facts("Error codes", "", "code", src.codes)
	if err := p.examples(filepath.Join(root, "ipc", "testdata")); err != nil {
		return nil, err
	}
	p.index()
	for i, sec := range src.sections {
		p.section(sec, i > 0 && src.sections[i-1].title == sec.title)
	}
	p.records()
	return append(bytes.TrimRight(p.Bytes(), "\n"), '\n'), nil
}

// line writes a block and the blank line behind it.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

func (p *page) facts(title, nameHead, valueHead string, facts []fact) {
	p.line("## %s", title)
	if nameHead == "" {
		fmt.Fprintf(p, "| %s | meaning |\n|---|---|\n", valueHead)
	} else {
		fmt.Fprintf(p, "| %s | %s | meaning |\n|---|---|---|\n", nameHead, valueHead)
	}
	for _, f := range facts {
		if nameHead != "" {
			fmt.Fprintf(p, "| %s ", f.name)
		}
		fmt.Fprintf(p, "| `%s` | %s |\n", f.value, cell(f.doc))
	}
	p.WriteByte('\n')
}

func (p *page) examples(dir string) error {
	p.line("## Examples")
	p.line("Lines that begin with `>` are the client's, those with `<` the server's. More stand in ipc/testdata, " +
		"which the tests of package `ipc` play.")
	for _, name := range examples {
		archive, err := txtar.ParseFile(filepath.Join(dir, name+".txtar"))
		if err != nil {
			return err
		}
		p.line("%s", bytes.TrimSpace(archive.Comment))
		p.WriteString("```\n")
		for _, f := range archive.Files {
			mark := map[string]string{"client": "> ", "server": "< ", "end": "# the server hangs up: "}[f.Name]
			for line := range strings.Lines(string(f.Data)) {
				p.WriteString(mark + line)
			}
		}
		p.line("```")
	}
	return nil
}

func (p *page) index() {
	p.line("## Methods")
	p.WriteString("| method | kind | flow | Go |\n|---|---|---|---|\n")
	for _, sec := range p.src.sections {
		for _, m := range sec.methods {
			fmt.Fprintf(p, "| [`%s`](#method-%s) | %s | %s | `ipc.%s` |\n", m.name, m.name, m.kind, sec.flow, m.goName)
		}
	}
	p.WriteByte('\n')
	p.line("A field marked *optional* may be left out, and is left out when it is empty, zero or false. Members that a " +
		"reader does not know are passed over; a member that comes twice ends the connection.")
}

func (p *page) section(sec section, continued bool) {
	if !continued {
		p.line("## %s", sec.title)
	}
	if sec.flow != "" && len(sec.methods) > 0 {
		p.line("*%s*", sec.flow)
	}
	if sec.intro != "" {
		p.line("%s", markdown(sec.intro))
	}
	for _, m := range sec.methods {
		p.line("### <a id=\"method-%s\"></a>`%s`", m.name, m.name)
		p.line("*%s*, `ipc.%s`. %s", m.kind, m.goName, markdown(m.doc))
		p.shape("Parameters", m.params)
		p.shape("Each item", m.item)
		p.shape("Result", m.result)
	}
}

// shape describes one side of a method: in place when it is the only use of a record.
func (p *page) shape(title string, typ ast.Expr) {
	if typ == nil {
		return
	}
	name := typeName(typ)
	r := p.src.records[name]
	switch {
	case name == "None":
		p.line("%s: none, `{}`.", title)
	case r == nil || slices.Contains(p.list, name):
		p.line("%s: %s.", title, p.typ(typ))
	default:
		p.line("%s: %s", title, markdown(r.doc))
		p.fields(r)
	}
}

func (p *page) records() {
	p.line("## Records")
	p.line("Strings of a kind: a *key* is %s; a *time* is RFC 3339; a *thread id* and a *message id* are opaque, and compared byte by byte.",
		"`ed25519:` and unpadded base64url")
	for _, name := range p.list {
		r := p.src.records[name]
		p.line("### <a id=\"record-%s\"></a>%s", r.name, r.name)
		p.line("%s", markdown(r.doc))
		p.fields(r)
	}
}

func (p *page) fields(r *record) {
	if len(r.fields) == 0 {
		p.line("No fields.")
		return
	}
	p.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range r.fields {
		if f.name == "" {
			fmt.Fprintf(p, "| *the fields of* | %s | %s |\n", p.typ(f.typ), cell(f.doc))
			continue
		}
		doc := cell(f.doc)
		if f.optional {
			doc = strings.TrimSpace("*optional* " + doc)
		}
		fmt.Fprintf(p, "| `%s` | %s | %s |\n", f.name, p.typ(f.typ), doc)
	}
	p.WriteByte('\n')
}

// count finds the records that need a place of their own: package awp's, and those that
// more than one method or record refers to, or that lie inside another.
func (p *page) count() {
	var visit func(typ ast.Expr, nested bool)
	visit = func(typ ast.Expr, nested bool) {
		if typ == nil {
			return
		}
		if inner := element(typ); inner != nil {
			visit(inner, true)
			return
		}
		name := typeName(typ)
		r := p.src.records[name]
		if r == nil || name == "None" {
			return
		}
		p.uses[name]++
		own := nested || strings.HasPrefix(name, "awp.") || p.uses[name] > 1
		if own && !slices.Contains(p.list, name) {
			p.list = append(p.list, name)
		}
		if p.uses[name] > 1 {
			return
		}
		for _, f := range r.fields {
			visit(f.typ, true)
		}
	}
	for _, sec := range p.src.sections {
		for _, m := range sec.methods {
			visit(m.params, false)
			visit(m.item, false)
			visit(m.result, false)
		}
	}
	slices.SortFunc(p.list, func(a, b string) int {
		return cmp.Compare(strings.TrimPrefix(a, "awp."), strings.TrimPrefix(b, "awp."))
	})
}

var docLink = regexp.MustCompile(`\[\*?([A-Za-z]+(?:\.[A-Za-z]+)*)\]`)

// markdown renders a Go comment.
func markdown(text string) string {
	var parser comment.Parser
	printer := comment.Printer{TextWidth: -1}
	text = docLink.ReplaceAllString(text, "$1") // they lead into Go's documentation
	return strings.TrimSpace(string(printer.Markdown(parser.Parse(text))))
}

// cell fits a comment into a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}
