package store

import (
	"database/sql"

	"github.com/awp-suite/awp"
)

// scanner is a row to scan, or the error that came instead.
type scanner interface{ Scan(...any) error }

type failedRow struct{ err error }

func (f failedRow) Scan(...any) error { return f.err }

// scanAll reads every row of a query's outcome. The list may be empty and is not nil. The
// rows are closed when it returns: their connection can be asked something else.
func scanAll[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

func scanKey(row scanner) (awp.Key, error) {
	var raw []byte
	if err := row.Scan(&raw); err != nil {
		return awp.Key{}, err
	}
	return awp.Key(raw), nil
}

func scanString(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}
