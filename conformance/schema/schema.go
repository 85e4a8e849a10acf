// Package schema describes every line of the protocol as one JSON Schema (2020-12), made
// from the types of package wire by reflection and a few rules, and checks lines against
// it. It opens nothing and keeps nothing.
package schema

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// object is a schema, or a part of one.
type object = map[string]any

// lines are the types of lines that PROTOCOL.md names.
var lines = map[string]reflect.Type{
	wire.TypeHello: reflect.TypeFor[wire.Hello](), wire.TypeAuth: reflect.TypeFor[wire.Auth](),
	wire.TypeResume: reflect.TypeFor[wire.Resume](), wire.TypeMsg: reflect.TypeFor[wire.Msg](),
	wire.TypeState: reflect.TypeFor[wire.State](), wire.TypeAck: reflect.TypeFor[wire.Ack](),
	wire.TypeChunk: reflect.TypeFor[wire.Chunk](), wire.TypePing: reflect.TypeFor[wire.Ping](),
	wire.TypePong: reflect.TypeFor[wire.Pong](), wire.TypeBye: reflect.TypeFor[wire.Bye](),
	wire.TypeErr: reflect.TypeFor[wire.Err](), wire.TypeGrant: reflect.TypeFor[wire.Grant](),
	wire.TypeIntroduce: reflect.TypeFor[wire.Introduce](), wire.TypePresence: reflect.TypeFor[wire.Presence](),
	wire.TypeMirror: reflect.TypeFor[wire.Mirror](), wire.TypePrivate: reflect.TypeFor[wire.Private](),
}

// needs are the members a line of the type has besides t, id and ts (sections 4 and 7 to
// 16). What else a type always writes may be left out by others.
var needs = map[string][]string{
	wire.TypeHello: {"key", "nonce"}, wire.TypeAuth: {"sig"}, wire.TypeResume: {"seen"},
	wire.TypeMsg: {"th", "parts"}, wire.TypeState: {"th", "state"}, wire.TypeAck: {"th", "re"},
	wire.TypeChunk: {"ref"}, wire.TypePong: {"re"}, wire.TypeErr: {"code"}, wire.TypeGrant: {"grant"},
	wire.TypeIntroduce: {"peer"}, wire.TypePresence: {"doc"}, wire.TypeMirror: {"th", "of"},
	wire.TypePrivate: {"th"},
}

const (
	base64Text = "^[A-Za-z0-9+/_-]*={0,2}$"
	keyText    = "^ed25519:[A-Za-z0-9+/_-]{43}=?$"
	stampText  = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}"
)

// special are members whose rule their Go type does not tell, by type and name; a type of
// "" is every line.
var special = map[string]object{
	"/id": {"type": "string", "minLength": 1}, "/ts": {"type": "string", "pattern": stampText},
	"hello/key": {"type": "string", "pattern": keyText}, "hello/nonce": {"type": "string", "minLength": 1, "pattern": base64Text},
	"auth/sig": {"type": "string", "minLength": 86, "pattern": base64Text}, "auth/grants": {"type": "array", "items": object{"type": "object"}},
	"resume/seen": {"type": []any{"object", "null"}, "additionalProperties": object{"type": "string"}},
	"chunk/data":  {"type": "string", "pattern": base64Text}, "chunk/n": {"type": "integer", "minimum": 0},
	"state/state": {"type": "string", "minLength": 1}, "grant/grant": {"type": "object"},
	"introduce/grant": {"type": "object"}, "presence/doc": {"type": "object"}, "mirror/line": {"type": "object"},
	"msg/parts": {"type": "array", "items": object{"$ref": "#/$defs/part"}}, "hello/v": {"type": "integer", "minimum": 0},
}

// Document returns the schema: one definition a type of line under $defs, chosen by member
// t. A line of a type that is not there needs the envelope only (section 3). Members that
// are not named may be there. The result is the caller's.
func Document() map[string]any {
	defs := object{"part": part(), "envelope": object{
		"type": "object", "required": []any{"t", "id", "ts"},
		"properties": object{"t": object{"type": "string", "minLength": 1}, "id": special["/id"], "ts": special["/ts"]},
	}}
	var cases []any
	for _, name := range Types() {
		def := members(name, lines[name])
		def["properties"].(object)["t"] = object{"const": name}
		required := []any{"t", "id", "ts"}
		for _, n := range needs[name] {
			required = append(required, n)
		}
		def["required"] = required
		defs[name] = def
		cases = append(cases, object{
			"if":   object{"properties": object{"t": object{"const": name}}},
			"then": object{"$ref": "#/$defs/" + name},
		})
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "AWP " + awp.Protocol + " lines", "$ref": "#/$defs/envelope", "allOf": cases, "$defs": defs,
	}
}

// Types returns the types of lines in their order in PROTOCOL.md.
func Types() []string {
	return []string{wire.TypeHello, wire.TypeAuth, wire.TypeResume, wire.TypeMsg, wire.TypeState, wire.TypeAck,
		wire.TypeChunk, wire.TypePing, wire.TypePong, wire.TypeBye, wire.TypeErr, wire.TypeGrant,
		wire.TypeIntroduce, wire.TypePresence, wire.TypeMirror, wire.TypePrivate}
}

// Text returns [Document] as JSON, indented by two spaces, members in order of name.
func Text() ([]byte, error) {
	return json.Marshal(Document(), json.Deterministic(true), jsontext.WithIndent("  "))
}

// members makes the schema of a struct; name is the line's type, "" inside one.
func members(name string, t reflect.Type) object {
	properties := object{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for k, v := range members("", f.Type)["properties"].(object) {
				properties[k] = v
			}
			continue
		}
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if rule, ok := special[name+"/"+member]; ok {
			properties[member] = rule
		} else {
			properties[member] = value(f.Type)
		}
	}
	return object{"type": "object", "properties": properties}
}

func value(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		return object{}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": value(t.Elem())}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": value(t.Elem())}
	case t.Kind() == reflect.Struct:
		return members("", t)
	}
	return object{"type": "integer"}
}

// part is section 11's: each kind has its members, an unknown kind any.
func part() object {
	text := object{"type": "string"}
	kinds := []struct {
		kind     string
		required []any
		members  object
	}{
		{wire.PartText, []any{"text"}, object{"text": text}},
		{wire.PartCode, []any{"text"}, object{"text": text, "lang": text}},
		{wire.PartData, []any{"data"}, object{"mime": text, "data": object{}}},
		{wire.PartBlob, []any{"ref", "size"}, object{"ref": text, "name": text, "mime": text, "size": object{"type": "integer", "minimum": 0}}},
	}
	var cases []any
	for _, k := range kinds {
		cases = append(cases, object{
			"if":   object{"properties": object{"k": object{"const": k.kind}}},
			"then": object{"required": k.required, "properties": k.members},
		})
	}
	return object{"type": "object", "required": []any{"k"}, "properties": object{"k": text}, "allOf": cases}
}
