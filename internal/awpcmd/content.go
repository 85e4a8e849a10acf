package awpcmd

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// content is what a message is made of, as it was typed.
type content struct {
	text  string
	code  []string // files
	lang  string
	data  []string // JSON
	mime  string
	files []string
}

// text joins the words of a message, or reads it from stdin where they are a lone "-".
// As in a shell's $(…), newlines at the end do not count.
func (a *app) text(words []string) (string, error) {
	for _, w := range words {
		if w == "-" && len(words) > 1 {
			return "", usagef("- means all of the text is on stdin; leave out the rest of it")
		}
	}
	if len(words) != 1 || words[0] != "-" {
		return strings.Join(words, " "), nil
	}
	b, err := readBounded(a.stdin)
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// readBounded reads as much as can possibly travel in a line.
func readBounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, wire.MaxLine+1))
	if err == nil && len(b) > wire.MaxLine {
		return nil, errTooLong
	}
	return b, err
}

var errTooLong = &awp.Error{
	Code:    awp.TooLarge,
	Message: "a message's text, code and data must fit in a line of 1 MiB",
	Hint:    "send it as a file: awp send … --file FILE",
}

// parts returns the message's parts: text, code, data, files. What can be judged without
// the store is judged here.
func (c content) parts() ([]ipc.SendPart, error) {
	var parts []ipc.SendPart
	if strings.TrimSpace(c.text) != "" {
		if !utf8.ValidString(c.text) {
			return nil, notUTF8("the text")
		}
		parts = append(parts, ipc.SendPart{Kind: "text", Text: c.text})
	}
	for _, path := range c.code {
		part, err := codePart(path, c.lang)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	for _, text := range c.data {
		if err := checkJSON(text); err != nil {
			return nil, err
		}
		parts = append(parts, ipc.SendPart{Kind: "data", Mime: c.mime, Data: jsontext.Value(text)})
	}
	for _, path := range c.files {
		part, err := filePart(path)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, usagef("the message is empty: add a text, --code FILE, --data JSON or --file FILE")
	}
	return parts, checkSize(parts)
}

// checkSize measures the parts as they are spelled in the line. The store's word is the
// last: it knows the rest of the line.
func checkSize(parts []ipc.SendPart) error {
	size := 0
	for _, p := range parts {
		quoted, err := jsontext.AppendQuote(nil, p.Text)
		if err != nil {
			return notUTF8("the text")
		}
		size += len(quoted) + len(p.Data)
	}
	if size > wire.MaxLine {
		return errTooLong
	}
	return nil
}

func codePart(path, lang string) (ipc.SendPart, error) {
	f, err := os.Open(path)
	if err != nil {
		return ipc.SendPart{}, fileError("--code", path, err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		return ipc.SendPart{}, &awp.Error{Code: awp.Invalid, Message: "--code: " + path + " is a directory"}
	}
	b, err := readBounded(f)
	if err != nil {
		return ipc.SendPart{}, fileError("--code", path, err)
	}
	if !utf8.Valid(b) {
		return ipc.SendPart{}, notUTF8(path)
	}
	if lang == "" {
		lang = language(path)
	}
	return ipc.SendPart{Kind: "code", Text: string(b), Lang: lang}, nil
}

// filePart leaves reading the file to the store, which opens it by its absolute path.
func filePart(path string) (ipc.SendPart, error) {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return ipc.SendPart{}, fileError("--file", path, err)
	case fi.IsDir():
		return ipc.SendPart{}, &awp.Error{Code: awp.Invalid, Message: "--file: " + path + " is a directory", Hint: "send an archive of it, made with tar or zip"}
	case !fi.Mode().IsRegular():
		return ipc.SendPart{}, &awp.Error{Code: awp.Invalid, Message: "--file: " + path + " is not a regular file"}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ipc.SendPart{}, fileError("--file", path, err)
	}
	if !utf8.ValidString(abs) {
		return ipc.SendPart{}, notUTF8("the path of " + path)
	}
	return ipc.SendPart{Kind: "file", Path: abs}, nil
}

func fileError(flag, path string, err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%s: %s: %v", flag, path, err), Hint: awp.HintOf(err), Cause: err}
}

func notUTF8(what string) error {
	return &awp.Error{Code: awp.Invalid, Message: what + " is not UTF-8", Hint: "send it as a file: awp send … --file FILE"}
}

// checkJSON finds what is wrong with a data part, and where: in a shell it is mostly the
// quoting.
func checkJSON(text string) error {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	_, err := dec.ReadValue()
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = &jsontext.SyntacticError{ByteOffset: dec.InputOffset(), Err: errors.New("more after the value")}
		}
	}
	offset, what := int64(len(text)), "it ends too early"
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		offset, what = syn.ByteOffset, syn.Err.Error()
	}
	before := text[:min(max(0, offset), int64(len(text)))]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &awp.Error{
		Code:    awp.Invalid,
		Message: fmt.Sprintf("--data is not JSON: line %d, column %d: %s", line, column, what),
		Hint:    `quote it for the shell: --data '{"branch":"main"}'`,
		Cause:   err,
	}
}
