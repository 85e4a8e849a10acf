package main

import (
	"fmt"
	"go/ast"
	"go/types"
)

// plain says how Go's types look in JSON.
var plain = map[string]string{
	"string":         "string",
	"bool":           "boolean",
	"int":            "integer",
	"int64":          "integer",
	"uint64":         "integer",
	"time.Time":      "time",
	"jsontext.Value": "any JSON value",
	"awp.Key":        "key",
	"awp.ThreadID":   "thread id",
	"awp.MessageID":  "message id",
}

func typeName(typ ast.Expr) string { return types.ExprString(typ) }

// qualified turns what package awp calls its own types into what others call them.
func qualified(typ ast.Expr) ast.Expr {
	switch typ := typ.(type) {
	case *ast.Ident:
		if typ.IsExported() {
			return &ast.SelectorExpr{X: ast.NewIdent("awp"), Sel: typ}
		}
	case *ast.ArrayType:
		typ.Elt = qualified(typ.Elt)
	case *ast.MapType:
		typ.Key, typ.Value = qualified(typ.Key), qualified(typ.Value)
	case *ast.StarExpr:
		typ.X = qualified(typ.X)
	}
	return typ
}

// element returns what a list, a map or a pointer holds, and nil for anything else.
func element(typ ast.Expr) ast.Expr {
	switch typ := typ.(type) {
	case *ast.ArrayType:
		return typ.Elt
	case *ast.MapType:
		return typ.Value
	case *ast.StarExpr:
		return typ.X
	}
	return nil
}

// typ says how a value of a Go type looks in JSON.
func (p *page) typ(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.ArrayType:
		return "array of " + p.typ(typ.Elt)
	case *ast.MapType:
		return fmt.Sprintf("object: %s to %s", p.typ(typ.Key), p.typ(typ.Value))
	case *ast.StarExpr:
		return p.typ(typ.X)
	}
	name := typeName(typ)
	if json, ok := plain[name]; ok {
		return json
	}
	return fmt.Sprintf("[%s](#record-%s)", name, name)
}
