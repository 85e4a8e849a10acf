package archtest

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/awp-suite/awp"

// tree is the module's source: every file, whatever system or build tag it is for.
type tree struct {
	fset *token.FileSet
	pkgs map[string]*pkg     // by directory; "." is package awp
	deps map[string][]string // what each program links, by directory; on any system
}

type pkg struct {
	dir   string
	files []*file // without tests
	tests []*file
}

type file struct {
	name    string // from the module's root
	source  []byte
	syntax  *ast.File
	imports []string // our own as directories: "./wire", and "./." for package awp
}

// newTree parses sources, by name.
func newTree(sources map[string][]byte) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), pkgs: make(map[string]*pkg), deps: make(map[string][]string)}
	for name, source := range sources {
		syntax, err := parser.ParseFile(t.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f := &file{name: name, source: source, syntax: syntax}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			f.imports = append(f.imports, localName(imported))
		}
		dir := path.Dir(name)
		p := t.pkgs[dir]
		if p == nil {
			p = &pkg{dir: dir}
			t.pkgs[dir] = p
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	return t, nil
}

// localName shortens an import of this module to its directory.
func localName(imported string) string {
	if imported == module {
		return "./."
	}
	if dir, ok := strings.CutPrefix(imported, module+"/"); ok {
		return "./" + dir
	}
	return imported
}

// theTree is read once for all laws.
var theTree = sync.OnceValues(func() (*tree, error) {
	const root = "../.."
	sources := make(map[string][]byte)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(name, "go.mod"))
			if name != root && (other == nil || d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(rel) == ".go" {
			sources[rel], err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	t, err := newTree(sources)
	if err != nil {
		return nil, err
	}
	for _, system := range []string{"linux", "darwin"} {
		if err := t.addDeps(root, system); err != nil {
			return nil, err
		}
	}
	return t, nil
})

// addDeps asks the go command what the programs link on a system.
func (t *tree) addDeps(root, system string) error {
	cmd := exec.Command("go", "list", "-json=ImportPath,Deps", "./cmd/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", system, err)
	}
	decoder := jsontext.NewDecoder(strings.NewReader(string(out)))
	for {
		var program struct {
			ImportPath string
			Deps       []string
		}
		if err := json.UnmarshalDecode(decoder, &program); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		dir := strings.TrimPrefix(program.ImportPath, module+"/")
		for _, dep := range program.Deps {
			t.deps[dir] = append(t.deps[dir], localName(dep))
		}
	}
}

// imports calls fn for every import of every file that is no test.
func (t *tree) imports(fn func(p *pkg, f *file, imported string)) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for _, imported := range f.imports {
				fn(p, f, imported)
			}
		}
	}
}

// at says where a node is.
func (t *tree) at(n ast.Node) string {
	pos := t.fset.Position(n.Pos())
	return pos.Filename + ":" + strconv.Itoa(pos.Line)
}

// under reports whether dir is one of roots or lies below one.
func under(dir string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") })
}

func isStd(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != "." && !strings.Contains(first, ".")
}

// law is one law. breaches says where a tree breaks it.
type law struct {
	says, why string
	breaches  func(*tree) []string
}

func TestLaws(t *testing.T) {
	tree, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range allLaws() {
		t.Run(l.says, func(t *testing.T) {
			breaches := l.breaches(tree)
			slices.Sort(breaches)
			for _, breach := range slices.Compact(breaches) {
				t.Errorf("%s\n\twhy: %s", breach, l.why)
			}
		})
	}
}

func allLaws() []law { return slices.Concat(importLaws, linkLaws, textLaws) }
