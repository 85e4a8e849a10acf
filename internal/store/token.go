package store

import (
	"database/sql"
	"encoding/json/v2"

	"github.com/awp-suite/awp"
)

// A call that changes something carries a token that its caller chose. The result is
// stored under it with the change itself. A caller whose answer was lost, in a crash
// between the commit and the reply, asks again with the same token and gets the first
// result: never a second message.

// maxToken bounds a token's length in bytes.
const maxToken = 64

// keepTokens is how long results are kept, in milliseconds: a caller asks again within
// seconds or not at all.
const keepTokens = 24 * 60 * 60 * 1000

const findToken = "SELECT result FROM token WHERE token = ?"

func checkToken(token string) error {
	if token == "" || len(token) > maxToken {
		return &awp.Error{Code: awp.Invalid, Message: "the call carries no token, or a long one"}
	}
	return nil
}

// repeated returns the result that the token has already, if it has one.
func (s *Store) repeated(token string) (Receipt, bool, error) {
	r, ok, err := scanResult[Receipt](s.ro.QueryRow(findToken, token))
	r.again = ok
	if ok && err == nil {
		r, err = s.answer(r, nil)
	}
	return r, ok, err
}

func (t *tx) repeated(token string) (Receipt, bool, error) {
	r, ok, err := scanResult[Receipt](t.row(findToken, token))
	r.again = ok
	return r, ok, err
}

func scanResult[R any](row scanner) (r R, ok bool, err error) {
	var text string
	err = row.Scan(&text)
	if err == sql.ErrNoRows {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, true, err
}

func (t *tx) remember(token string, r any) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO token (token, at, result) VALUES (?, ?, ?)", token, ms(t.now), string(text))
}
