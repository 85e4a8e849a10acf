package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// source is what the document is made of.
type source struct {
	comment   string // of package ipc
	sections  []section
	records   map[string]*record // by name as package ipc writes it: SendParams, awp.Peer
	constants []fact             // exported ones of package ipc
	codes     []fact             // error codes of package awp
}

// section is a run of methods that flow the same way.
type section struct {
	title, flow, intro string
	methods            []method
}

// method is a variable of type Method, Stream or Note.
type method struct {
	goName, name, kind, doc string
	params, item, result    ast.Expr // nil where the kind has none
}

type record struct {
	name, doc string
	fields    []field
}

// field is a member of a record. An embedded one has no name: its members are the
// record's own.
type field struct {
	name, doc string
	optional  bool
	typ       ast.Expr
}

type fact struct{ name, value, doc string }

// files lists the files that declare methods, in the document's order. A file that is
// missing here is an error, not a gap.
var files = []struct{ name, title, flow string }{
	{"front.go", "awp-store, for the programs people and agents use", "any program → awp-store"},
	{"grants.go", "awp-store: grants and introductions", "any program → awp-store"},
	{"wire.go", "awp-wire, for the programs people and agents use", "any program → awp-wire"},
	{"link.go", "Links: between awp-wire and awp-store", ""},
}

// flows names the sections of a file that both sides send in, by how their comment begins.
var flows = map[string]string{
	"From awp-wire":  "awp-wire → awp-store",
	"From awp-store": "awp-store → awp-wire",
}

func load(root string) (*source, error) {
	s := &source{records: make(map[string]*record)}
	for _, pkg := range []struct{ dir, prefix string }{{"ipc", ""}, {"", "awp."}} {
		paths, err := filepath.Glob(filepath.Join(root, pkg.dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			s.read(file, filepath.Base(path), pkg.prefix)
		}
	}
	rank := func(sec section) int {
		return slices.IndexFunc(files, func(f struct{ name, title, flow string }) bool { return strings.HasPrefix(sec.title, f.title) })
	}
	for _, sec := range s.sections {
		if rank(sec) < 0 {
			return nil, fmt.Errorf("%s declares methods: name it in the table of files in internal/ipcdoc", sec.title)
		}
	}
	slices.SortStableFunc(s.sections, func(a, b section) int { return cmp.Compare(rank(a), rank(b)) })
	return s, nil
}

// read takes what the document wants from one file.
func (s *source) read(file *ast.File, name, prefix string) {
	inIPC := prefix == ""
	if inIPC && file.Doc != nil {
		s.comment = file.Doc.Text()
	}
	current := section{title: name}
	for _, f := range files {
		if f.name == name {
			current.title, current.flow = f.title, f.flow
		}
	}
	flush := func() {
		if len(current.methods) > 0 || (current.intro != "" && current.title != name) {
			s.sections = append(s.sections, current)
		}
	}
	free := freeComments(file)
	for _, decl := range file.Decls {
		for len(free) > 0 && free[0].End() < decl.Pos() {
			text := strings.TrimSpace(free[0].Text())
			free = free[1:]
			for begin, flow := range flows {
				if strings.HasPrefix(text, begin) {
					flush()
					current = section{title: current.title, flow: flow}
				}
			}
			current.intro = strings.TrimSpace(current.intro + "\n\n" + text)
		}
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.addRecord(gen, spec, prefix)
			case *ast.ValueSpec:
				if m, ok := asMethod(gen, spec); ok && inIPC {
					current.methods = append(current.methods, m)
				} else if gen.Tok == token.CONST {
					s.addConstant(gen, spec, inIPC)
				}
			}
		}
	}
	if inIPC {
		flush()
	}
}

// freeComments returns the top-level comments that belong to no declaration.
func freeComments(file *ast.File) []*ast.CommentGroup {
	belongs := map[*ast.CommentGroup]bool{file.Doc: true}
	for _, decl := range file.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			if group, ok := n.(*ast.CommentGroup); ok {
				belongs[group] = true
			}
			return true
		})
	}
	var free []*ast.CommentGroup
	for _, group := range file.Comments {
		inBody := slices.ContainsFunc(file.Decls, func(d ast.Decl) bool { return d.Pos() <= group.Pos() && group.End() <= d.End() })
		if !belongs[group] && !inBody && group.Pos() > file.Name.Pos() {
			free = append(free, group)
		}
	}
	return free
}

// asMethod reads var Name = Kind[Types…]{"wire name"}.
func asMethod(gen *ast.GenDecl, spec *ast.ValueSpec) (method, bool) {
	if len(spec.Values) != 1 {
		return method{}, false
	}
	lit, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok || len(lit.Elts) != 1 {
		return method{}, false
	}
	var kind ast.Expr
	var args []ast.Expr
	switch typ := lit.Type.(type) {
	case *ast.IndexExpr:
		kind, args = typ.X, []ast.Expr{typ.Index}
	case *ast.IndexListExpr:
		kind, args = typ.X, typ.Indices
	default:
		return method{}, false
	}
	name, ok := lit.Elts[0].(*ast.BasicLit)
	if !ok {
		return method{}, false
	}
	wire, _ := strconv.Unquote(name.Value)
	m := method{goName: spec.Names[0].Name, name: wire, doc: gen.Doc.Text(), params: args[0]}
	switch kind.(*ast.Ident).Name {
	case "Method":
		m.kind, m.result = "call", args[1]
	case "Stream":
		m.kind, m.item, m.result = "stream", args[1], args[2]
	case "Note":
		m.kind = "notification"
	default:
		return method{}, false
	}
	return m, true
}

func (s *source) addRecord(gen *ast.GenDecl, spec *ast.TypeSpec, prefix string) {
	st, ok := spec.Type.(*ast.StructType)
	if !ok || !spec.Name.IsExported() || spec.TypeParams != nil {
		return
	}
	r := &record{name: prefix + spec.Name.Name, doc: cmp.Or(spec.Doc.Text(), gen.Doc.Text())}
	for _, f := range st.Fields.List {
		if prefix != "" {
			f.Type = qualified(f.Type)
		}
		doc := cmp.Or(f.Doc.Text(), f.Comment.Text())
		if len(f.Names) == 0 {
			r.fields = append(r.fields, field{typ: f.Type, doc: doc})
			continue
		}
		if f.Tag == nil {
			continue // not on the wire
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		r.fields = append(r.fields, field{name: name, doc: doc, optional: strings.Contains(options, "omitzero"), typ: f.Type})
	}
	s.records[r.name] = r
}

func (s *source) addConstant(gen *ast.GenDecl, spec *ast.ValueSpec, inIPC bool) {
	for i, name := range spec.Names {
		if !name.IsExported() || i >= len(spec.Values) {
			continue
		}
		value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(spec.Values[i]))
		if err != nil {
			continue // made of other constants: none is, so far
		}
		f := fact{name.Name, value.Value.ExactString(), cmp.Or(spec.Doc.Text(), spec.Comment.Text(), gen.Doc.Text())}
		if value.Value.Kind() == constant.String {
			f.value = constant.StringVal(value.Value)
		}
		switch typ, _ := spec.Type.(*ast.Ident); {
		case inIPC:
			s.constants = append(s.constants, f)
		case typ != nil && typ.Name == "Code":
			s.codes = append(s.codes, f)
		}
	}
}
