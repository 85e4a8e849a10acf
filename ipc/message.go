package ipc

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

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

func toRPC(err error) *rpcError {
	return &rpcError{
		Code:    applicationError,
		Message: err.Error(),
		Data:    errorData{Code: awp.CodeOf(err), Hint: awp.HintOf(err)},
	}
}

func (e *rpcError) toAWP() error {
	code := e.Data.Code
	if code == "" {
		code = awp.Internal
	}
	return &awp.Error{Code: code, Message: e.Message, Hint: e.Data.Hint}
}

// decodeMessage reads one line. It accepts only what this package's encoder can make.
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
	}
	return m, nil
}

// appendMessage appends m and its raw lines to buf, each with its newline.
func appendMessage(buf []byte, m message, lines [][]byte) ([]byte, error) {
	m.JSONRPC = "2.0"
	m.Lines = len(lines)
	head, err := json.Marshal(m)
	if err != nil {
		return buf, fmt.Errorf("encode line: %w", err)
	}
	if len(head) > MaxLine {
		return buf, &awp.Error{Code: awp.TooLarge, Message: fmt.Sprintf("answer of %d bytes is over the local limit of %d", len(head), MaxLine)}
	}
	buf = append(append(buf, head...), '\n')
	for _, line := range lines {
		buf = append(append(buf, line...), '\n')
	}
	return buf, nil
}
