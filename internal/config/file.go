package config

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/awp-suite/awp"
)

// FileName is the settings file in a home.
const FileName = "config.json"

// Bounds of config.json: its bytes, and the keys in it that are warned about one by one.
const (
	maxFile     = 1 << 20
	maxWarnings = 20
)

// file is config.json while it is read: a JSON object whose keys are settings, or hold
// such objects.
type file struct {
	path  string
	data  []byte
	dec   *jsontext.Decoder
	table []setting

	unknown  int // keys seen
	warnings []string
}

// loadFile reads config.json of home. None is as good as an empty object.
func (s *Settings) loadFile(home string, table []setting) error {
	path := filepath.Join(home, FileName)
	data, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &awp.Error{Code: awp.Invalid, Message: "cannot read the settings: " + err.Error(), Cause: err}
	}
	f := newFile(path, data, table)
	err = f.read()
	s.Warnings = f.warnings
	return err
}

func newFile(path string, data []byte, table []setting) *file {
	return &file{path: path, data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), table: table}
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return data, err
}

func (f *file) read() error {
	if err := f.object(""); err != nil {
		return err
	}
	rest := bytes.TrimLeft(f.data[f.dec.InputOffset():], " \t\r\n")
	if len(rest) > 0 {
		return f.fail(int64(len(f.data)-len(rest)), "", "not valid JSON: more follows the closing brace", nil)
	}
	return nil
}

// object reads one JSON object, whose keys are spelled with prefix in the table.
func (f *file) object(prefix string) error {
	if f.dec.PeekKind() != jsontext.KindBeginObject {
		return f.notObject(prefix)
	}
	if _, err := f.dec.ReadToken(); err != nil {
		return f.corrupt(err)
	}
	for {
		tok, err := f.dec.ReadToken()
		if err != nil {
			return f.corrupt(err)
		}
		if tok.Kind() == jsontext.KindEndObject {
			return nil
		}
		if err := f.member(prefix, tok.String()); err != nil {
			return err
		}
	}
}

// notObject takes null where an object could be left out, and nothing else.
func (f *file) notObject(prefix string) error {
	raw, err := f.dec.ReadValue()
	if err != nil {
		return f.corrupt(err)
	}
	if raw.Kind() == jsontext.KindNull && prefix != "" {
		return nil
	}
	what := fmt.Sprintf("got %s, want a JSON object", clip(string(raw)))
	return f.fail(f.dec.InputOffset()-int64(len(raw)), strings.TrimSuffix(prefix, "."), what, nil)
}

// member reads the value of one key.
func (f *file) member(prefix, name string) error {
	key := prefix + name
	if f.isObject(key) {
		return f.object(key + ".")
	}
	named := f.dec.InputOffset() // just behind the key
	raw, err := f.dec.ReadValue()
	if err != nil {
		return f.corrupt(err)
	}
	row, near := f.find(key)
	if row == nil || strings.Contains(name, ".") { // policy.root in one word is none of ours
		f.warn(named, key, near)
		return nil
	}
	if raw.Kind() == jsontext.KindNull { // as if the key was not there
		return nil
	}
	if err := row.json(raw); err != nil {
		b := asBad(err, string(raw))
		at := f.dec.InputOffset() - int64(len(raw)) + b.offset
		return f.fail(at, key+b.where(), fmt.Sprintf("got %s, want %s", clip(b.got), row.want), b.cause)
	}
	return nil
}

// isObject reports whether key holds other keys.
func (f *file) isObject(key string) bool {
	return slices.ContainsFunc(f.table, func(row setting) bool { return strings.HasPrefix(row.key, key+".") })
}

// find returns key's row, or the spelling of a row that differs from it in case only.
func (f *file) find(key string) (row *setting, near string) {
	for i := range f.table {
		switch {
		case f.table[i].key == key:
			return &f.table[i], ""
		case f.table[i].key != "" && strings.EqualFold(f.table[i].key, key):
			near = f.table[i].key
		}
	}
	return nil, near
}

// warn notes that the key just before offset is unknown.
func (f *file) warn(offset int64, key, near string) {
	f.unknown++
	if f.unknown > maxWarnings {
		more := fmt.Sprintf("%s: %d more unknown keys are ignored", FileName, f.unknown-maxWarnings)
		f.warnings = append(f.warnings[:maxWarnings], more)
		return
	}
	line, _ := f.position(offset)
	w := fmt.Sprintf("%s:%d: unknown key %q is ignored", FileName, line, clip(key))
	if near != "" {
		w += fmt.Sprintf("; did you mean %q?", near)
	}
	f.warnings = append(f.warnings, w)
}

// corrupt reports what is not JSON. Invalid UTF-8 and a key given twice count as that:
// readers would differ on what they mean.
func (f *file) corrupt(err error) error {
	offset := f.dec.InputOffset()
	what := err.Error()
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syn.ByteOffset
		what = syn.Err.Error()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = fmt.Sprintf("key %q is given twice", clip(syn.JSONPointer.LastToken()))
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, what = int64(len(f.data)), "the file ends too early"
	}
	return f.fail(offset, "", "not valid JSON: "+what, err)
}

func (f *file) fail(offset int64, key, what string, cause error) error {
	line, column := f.position(offset)
	if key != "" {
		what = key + ": " + what
	}
	return &awp.Error{
		Code:    awp.Invalid,
		Message: fmt.Sprintf("%s:%d:%d: %s", f.path, line, column, what),
		Hint:    "correct the file, then try again",
		Cause:   cause,
	}
}

// position turns a byte offset into line and column, both counted from 1, the column in
// characters as editors do.
func (f *file) position(offset int64) (line, column int) {
	before := f.data[:max(0, min(int(offset), len(f.data)))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}
