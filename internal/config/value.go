package config

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value takes one setting in the two forms it is written in. Both errors may be a *bad
// that says more closely what is off.
type value struct {
	want string // what is wanted, for people
	json func(jsontext.Value) error
	text func(string) error // never a blank text
}

// judge takes text, unless it is off.
func (v value) judge(text string) *bad {
	err := errors.New("not UTF-8")
	if utf8.ValidString(text) {
		err = v.text(text)
	}
	if err == nil {
		return nil
	}
	return asBad(err, text)
}

// bad is a value that is off, or one element of it.
type bad struct {
	got    string
	index  int   // of the element in its list; -1: the value itself
	offset int64 // of the element from the start of the value, in bytes
	cause  error
}

func (b *bad) Error() string { return b.cause.Error() }
func (b *bad) Unwrap() error { return b.cause }

func (b *bad) where() string {
	if b.index < 0 {
		return ""
	}
	return "[" + strconv.Itoa(b.index) + "]"
}

// asBad returns err as a *bad about got, unless it already is one about less.
func asBad(err error, got string) *bad {
	if b, ok := errors.AsType[*bad](err); ok {
		return b
	}
	return &bad{got: got, index: -1, cause: err}
}

var errKind = errors.New("wrong type")

// quoted reads a JSON string. An empty one is as good as no key at all.
func quoted(set func(string) error) func(jsontext.Value) error {
	return func(raw jsontext.Value) error {
		text, err := unquote(raw)
		if err != nil || text == "" {
			return err
		}
		return set(text)
	}
}

func unquote(raw jsontext.Value) (string, error) {
	if raw.Kind() != jsontext.KindString {
		return "", errKind
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err
}

// one is a setting written as a text.
func one[T any](p *T, want string, parse func(string) (T, error)) value {
	set := func(text string) error {
		v, err := parse(text)
		if err == nil {
			*p = v
		}
		return err
	}
	return value{want: want, json: quoted(set), text: set}
}

// truth is a switch: true or false in JSON; in the environment anything but off is true.
func truth(p *bool, off ...string) value {
	return value{
		want: "true or false",
		json: func(raw jsontext.Value) error {
			if k := raw.Kind(); k != jsontext.KindTrue && k != jsontext.KindFalse {
				return errKind
			}
			*p = raw.Kind() == jsontext.KindTrue
			return nil
		},
		text: func(text string) error {
			*p = on(text, off...)
			return nil
		},
	}
}

// size is a number of bytes.
func size(p *int64) value {
	set := func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n <= 0 {
			err = errors.New("not above 0")
		}
		if err == nil {
			*p = n
		}
		return err
	}
	return value{
		want: "a whole number of bytes above 0",
		json: func(raw jsontext.Value) error {
			if raw.Kind() != jsontext.KindNumber {
				return errKind
			}
			return set(string(raw))
		},
		text: set,
	}
}

// list is a setting of many elements, none twice: an array of strings in JSON, commas
// between them in the environment.
type list[T comparable] struct {
	p     *[]T
	want  string
	parse func(string) (T, error)
	check func() error // judges the whole list; may be nil
}

func many[T comparable](p *[]T, want string, parse func(string) (T, error)) *list[T] {
	return &list[T]{p: p, want: want, parse: parse}
}

// value is the list that a later place replaces.
func (l *list[T]) value() value { return value{want: l.want, json: l.fromJSON, text: l.fromText} }

// adding is the list that the environment adds to.
func (l *list[T]) adding() value {
	v := l.value()
	v.text = func(text string) error {
		before := *l.p
		err := l.fromText(text)
		for _, elem := range *l.p {
			if !slices.Contains(before, elem) {
				before = append(before, elem)
			}
		}
		*l.p = before
		return err
	}
	return v
}

func (l *list[T]) fromJSON(raw jsontext.Value) error {
	if raw.Kind() != jsontext.KindBeginArray {
		return errKind
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	elems := []T{}
	for i := 0; dec.PeekKind() != jsontext.KindEndArray; i++ {
		elem, err := dec.ReadValue()
		if err != nil {
			return err
		}
		text, err := unquote(elem)
		if err == nil {
			elems, err = l.add(elems, text)
		}
		if err != nil {
			return &bad{got: string(elem), index: i, offset: dec.InputOffset() - int64(len(elem)), cause: err}
		}
	}
	return l.set(elems)
}

func (l *list[T]) fromText(text string) error {
	elems := []T{}
	for i, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		var err error
		if elems, err = l.add(elems, part); err != nil {
			return &bad{got: part, index: i, cause: err}
		}
	}
	return l.set(elems)
}

func (l *list[T]) add(elems []T, text string) ([]T, error) {
	elem, err := l.parse(text)
	if err != nil {
		return elems, fmt.Errorf("element: %w", err)
	}
	if !slices.Contains(elems, elem) {
		elems = append(elems, elem)
	}
	return elems, nil
}

func (l *list[T]) set(elems []T) error {
	*l.p = elems
	if l.check == nil {
		return nil
	}
	return l.check()
}

// maxShown keeps a value in an error short: whoever mistypes a secret should not find
// the whole of it in a log. A tailcat address is longer.
const maxShown = 32

func clip(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown]) + "…"
}
