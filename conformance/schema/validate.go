package schema

import (
	"encoding/json/v2"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var whole = sync.OnceValue(Document)

// Validate checks a line, without its newline, against [Document]. The error says where
// in the line what is wrong. It knows the keywords that Document uses and no others.
// Several goroutines may call it.
func Validate(line []byte) error {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return fmt.Errorf("validate line: %w", err)
	}
	if err := validate(whole(), v, "line"); err != nil {
		return fmt.Errorf("validate line: %w", err)
	}
	return nil
}

func validate(s object, v any, at string) error {
	if ref, ok := s["$ref"].(string); ok {
		def := whole()["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object)
		if err := validate(def, v, at); err != nil {
			return err
		}
	}
	if t, ok := s["type"]; ok && !isOf(t, v) {
		return fmt.Errorf("%s is not of type %v", at, t)
	}
	if c, ok := s["const"]; ok && c != v {
		return fmt.Errorf("%s is not %v", at, c)
	}
	switch v := v.(type) {
	case string:
		if n, ok := s["minLength"].(int); ok && len([]rune(v)) < n {
			return fmt.Errorf("%s is shorter than %d", at, n)
		}
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return fmt.Errorf("%s does not match %s", at, p)
		}
	case float64:
		if n, ok := s["minimum"].(int); ok && v < float64(n) {
			return fmt.Errorf("%s is less than %d", at, n)
		}
	case []any:
		items, _ := s["items"].(object)
		for i, item := range v {
			if err := validate(items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case object:
		if err := validateObject(s, v, at); err != nil {
			return err
		}
	}
	all, _ := s["allOf"].([]any)
	for _, c := range all {
		c := c.(object)
		if validate(c["if"].(object), v, at) == nil {
			if err := validate(c["then"].(object), v, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateObject(s, v object, at string) error {
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s has no %s", at, name)
		}
	}
	properties, _ := s["properties"].(object)
	other, _ := s["additionalProperties"].(object)
	for name, member := range v {
		rule, ok := properties[name].(object)
		if !ok {
			rule = other
		}
		if err := validate(rule, member, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// isOf reports whether v is of the type, or one of the types.
func isOf(t, v any) bool {
	if several, ok := t.([]any); ok {
		return slices.ContainsFunc(several, func(t any) bool { return isOf(t, v) })
	}
	switch v := v.(type) {
	case nil:
		return t == "null"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	}
	return t == "object"
}
