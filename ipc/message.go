package ipc

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/awp-suite/awp"
)

// message is any line of the protocol: a request (Method and ID), a notification
// (Method only) or a response (ID only).
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	IPC     int            `json:"ipc,omitzero"`
	ID      uint64         `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   *rpcError      `json:"error,omitzero"`
	Lines   int            `json:"lines,omitzero"`
}

// rpcError is JSON-RPC's error object. What a program branches on is in Data.
type rpcError struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    errorData `json:"data"`
}

type errorData struct {
	Code awp.Code `json:"code"`
	Hint string   `json:"hint,omitzero"`
}

const applicationError = -32000

// maxSentence bounds the text of an error and its hint, in bytes.
const maxSentence = 16 << 10

// toRPC makes of err what can always be sent: a caller that gets no answer waits forever.
func toRPC(err error) *rpcError {
	return &rpcError{
		Code:    applicationError,
		Message: sentence(err.Error()),
		Data:    errorData{Code: awp.CodeOf(err), Hint: sentence(awp.HintOf(err))},
	}
}

// sentence makes s fit for JSON. A path, for one, may be any bytes.
func sentence(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxSentence)], "\uFFFD")
}

func (e *rpcError) toAWP() error {
	code := e.Data.Code
	if code == "" {
		code = awp.Internal
	}
	return &awp.Error{Code: code, Message: e.Message, Hint: e.Data.Hint}
}

// decodeMessage reads one line. It accepts what this package's encoder can make, and
// members it does not know: a line of another release must get as far as its version.
func decodeMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("decode line: %w", err)
	}
	switch {
	case m.JSONRPC != "2.0":
		return m, errors.New("decode line: not JSON-RPC 2.0")
	case m.Lines < 0 || m.Lines > maxLines:
		return m, fmt.Errorf("decode line: announces %d lines, limit %d", m.Lines, maxLines)
	case m.Method == "" && m.ID == 0:
		return m, errors.New("decode line: neither method nor id")
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return m, errors.New("decode line: both a call and an answer")
	case m.Method == "" && (m.Result != nil) == (m.Error != nil):
		return m, errors.New("decode line: an answer has a result or an error")
	}
	return m, nil
}

// appendMessage appends m and its raw lines to buf, each with its newline. On an error
// nothing is appended.
func appendMessage(buf []byte, m message, lines [][]byte) ([]byte, error) {
	if err := checkLines(lines); err != nil {
		return buf, err
	}
	m.Lines = len(lines)
	start := len(buf)
	full, err := appendHead(buf, m)
	if err != nil {
		return buf, fmt.Errorf("encode line: %w", err)
	}
	if n := len(full) - start; n > MaxLine {
		return buf, tooLarge("a line of %d bytes is over the local limit of %d", n, MaxLine)
	}
	full = append(full, '\n')
	for _, line := range lines {
		full = append(append(full, line...), '\n')
	}
	return full, nil
}

// checkLines makes sure that the other side will read lines as they are meant. Those that
// come from a host's peer were bounded and split already; what is wrong here is a defect.
func checkLines(lines [][]byte) error {
	if len(lines) > maxLines {
		return tooLarge("%d raw lines are over the local limit of %d", len(lines), maxLines)
	}
	room := maxRaw
	for _, line := range lines {
		if len(line) > MaxLine {
			return tooLarge("a raw line of %d bytes is over the local limit of %d", len(line), MaxLine)
		}
		if room -= len(line); room < 0 {
			return tooLarge("raw lines are over the local limit of %d bytes in all", maxRaw)
		}
		if bytes.IndexByte(line, '\n') >= 0 {
			return &awp.Error{Code: awp.Invalid, Message: "a newline inside a raw line"}
		}
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return &awp.Error{Code: awp.TooLarge, Message: fmt.Sprintf(format, args...)}
}

// appendHead appends the object of m. It needs no reflection, the first use of which
// alone takes a twentieth of the life of a short command. Params and Result are compact:
// json.Marshal made them.
func appendHead(b []byte, m message) ([]byte, error) {
	b = append(b, `{"jsonrpc":"2.0"`...)
	number := func(name string, n int) {
		if n != 0 {
			b = strconv.AppendInt(append(b, name...), int64(n), 10)
		}
	}
	value := func(name string, v jsontext.Value) {
		if v != nil {
			b = append(append(b, name...), v...)
		}
	}
	number(`,"ipc":`, m.IPC)
	if m.ID != 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), m.ID, 10)
	}
	if m.Method != "" {
		var err error
		if b, err = jsontext.AppendQuote(append(b, `,"method":`...), m.Method); err != nil {
			return nil, err
		}
	}
	value(`,"params":`, m.Params)
	value(`,"result":`, m.Result)
	if m.Error != nil {
		raw, err := json.Marshal(m.Error)
		if err != nil {
			return nil, err
		}
		value(`,"error":`, raw)
	}
	number(`,"lines":`, m.Lines)
	return append(b, '}'), nil
}

// encode is json.Marshal, but needs no reflection for None.
func encode(v any) (jsontext.Value, error) {
	if _, none := v.(None); none {
		return jsontext.Value("{}"), nil
	}
	return json.Marshal(v)
}
