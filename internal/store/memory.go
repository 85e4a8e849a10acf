package store

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"os"

	"github.com/awp-suite/awp"
)

// remember keeps the settings that were given, so that they need to be given once. One
// that was not given keeps the value it had.
func (s *Store) remember(ctx context.Context) error {
	given := map[string]string{
		"identity": s.Key().String(),
		"name":     s.set.Name, "about": s.set.About, "harness": s.set.Harness, "model": s.set.Model,
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

// identify loads the home's key, or makes one for a new home. The key is remembered: the
// conversations of one agent must never become another's because a file was lost.
func (s *Store) identify(path string) error {
	memory, err := s.recall(context.Background())
	if err != nil {
		return dbError("awp.db", err)
	}
	was := memory["identity"]
	if s.identity, err = loadIdentity(path, was == ""); err != nil {
		return err
	}
	if key := s.Key().String(); was != "" && was != key {
		return &awp.Error{
			Code:    awp.Invalid,
			Message: fmt.Sprintf("%s holds the key of another agent than awp.db belongs to (%s)", path, was),
			Hint:    "restore the one that belongs here from a backup, or use another home with --home",
		}
	}
	return nil
}

// recall returns what is remembered, by name. The name that we call ourselves is always
// among it.
func (s *Store) recall(ctx context.Context) (map[string]string, error) {
	rows, err := s.ro.QueryContext(ctx, "SELECT name, value FROM memory")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		all[name] = value
	}
	all["name"] = cmp.Or(all["name"], "awp@"+s.hostname())
	return all, rows.Err()
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
