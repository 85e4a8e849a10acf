package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json/v2"
	"os"

	"github.com/awp-suite/awp"
)

// remember keeps the settings that were given, so that they need to be given once. One
// that was not given keeps the value it had.
func (s *Store) remember(ctx context.Context) error {
	given := map[string]string{
		"name": s.set.Name, "about": s.set.About, "harness": s.set.Harness, "model": s.set.Model,
	}
	if s.set.ShareWith != nil {
		list, err := json.Marshal(s.set.ShareWith)
		if err != nil {
			return err
		}
		given["share_with"] = string(list)
	}
	return s.w.do(ctx, func(t *tx) error {
		for name, value := range given {
			if value == "" {
				continue
			}
			if err := t.exec("INSERT INTO memory (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// recall returns a remembered value, empty when there is none.
func (s *Store) recall(name string) (value string, err error) {
	err = s.ro.QueryRow("SELECT value FROM memory WHERE name = ?", name).Scan(&value)
	if err == sql.ErrNoRows {
		return "", nil
	}
	return value, err
}

// name returns what we call ourselves.
func (s *Store) name() (string, error) {
	name, err := s.recall("name")
	return cmp.Or(name, "awp@"+s.hostname()), err
}

func (s *Store) hostname() string {
	host := s.set.Host
	if host == "" {
		host, _ = os.Hostname() // "localhost" will do
	}
	return cmp.Or(host, "localhost")
}

// defaultAbout is what our hello says of us when the owner says nothing. Dashboards know
// it by its shape and hide it (PROTOCOL.md section 7.1).
func (s *Store) defaultAbout() string {
	return "awp-suite " + awp.Release + ", key fingerprint " + s.Key().Fingerprint()
}
