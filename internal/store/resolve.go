package store

import (
	"fmt"
	"strings"

	"github.com/awp-suite/awp"
)

// minPrefix is the shortest key prefix that names a peer.
const minPrefix = 4

// shortKey is how much of a key the suite shows: whoever types that much means the key.
const shortKey = 10

// Find returns the key of the peer that a person means by who: a full key, known or not;
// an alias; a name; or a prefix of a known key's base64url body. An alias, which its
// owner chose, goes before names, which strangers choose, and so does a key as the suite
// shows it: nobody gets another's messages by calling himself like the other's key.
func (s *Store) Find(who string) (awp.Key, error) {
	if strings.HasPrefix(who, awp.KeyPrefix) {
		key, err := awp.ParseKey(who)
		if err == nil && key == s.Key() {
			return key, &awp.Error{Code: awp.Invalid, Message: "that is this agent's own key", Hint: "awp peers lists the others"}
		}
		if err == nil {
			return key, nil
		}
	}
	rows, err := s.ro.Query("SELECT key, name, alias FROM peer")
	if err != nil {
		return awp.Key{}, err
	}
	defer rows.Close()
	var aliases, shortKeys, others []awp.Key
	var known []string
	body := strings.TrimPrefix(who, awp.KeyPrefix)
	for rows.Next() {
		var raw []byte
		var name, alias string
		if err := rows.Scan(&raw, &name, &alias); err != nil {
			return awp.Key{}, err
		}
		key := awp.Key(raw)
		if len(known) < 8 {
			known = append(known, awp.Label(alias, name, key))
		}
		isPrefix := len(body) >= minPrefix && strings.HasPrefix(key.String()[len(awp.KeyPrefix):], body)
		switch {
		case alias == who && who != "":
			aliases = append(aliases, key)
		case isPrefix && len(body) >= shortKey:
			shortKeys = append(shortKeys, key)
		case isPrefix, name == who && who != "":
			others = append(others, key)
		}
	}
	if err := rows.Err(); err != nil {
		return awp.Key{}, err
	}
	for _, found := range [][]awp.Key{aliases, shortKeys, others} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return awp.Key{}, &awp.Error{
				Code:    awp.Ambiguous,
				Message: fmt.Sprintf("%q could be any of %s", who, shorts(found)),
				Hint:    "name the peer by its key, or give it an alias: awp alias <key> <alias>",
			}
		}
	}
	hint := "connect to one first: awp connect <address>"
	if len(known) > 0 {
		hint = "known peers: " + strings.Join(known, ", ")
	}
	return awp.Key{}, &awp.Error{Code: awp.NotFound, Message: fmt.Sprintf("no peer named %q", who), Hint: hint}
}

func shorts(keys []awp.Key) string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.Short()
	}
	return strings.Join(list, ", ")
}

// Addressee returns the peer that a line is for: who, or the thread's only peer.
func (s *Store) Addressee(who string, th awp.ThreadID) (awp.Key, error) {
	if who != "" {
		return s.Find(who)
	}
	if th == "" {
		return awp.Key{}, &awp.Error{Code: awp.Invalid, Message: "no peer and no thread was named", Hint: "name a peer; awp peers lists them"}
	}
	key, known, era := s.whose.get(th)
	if known {
		return key, nil
	}
	keys, err := s.threadPeers(th)
	if err != nil {
		return awp.Key{}, err
	}
	switch len(keys) {
	case 0:
		return awp.Key{}, noThread(th, "")
	case 1:
		s.whose.put(th, keys[0], era)
		return keys[0], nil
	}
	return awp.Key{}, &awp.Error{
		Code:    awp.Ambiguous,
		Message: fmt.Sprintf("thread %s exists with %d peers: %s", th, len(keys), shorts(keys)),
		Hint:    "name the peer, too",
	}
}

// threadPeers returns the peers that a thread of this id exists with.
func (s *Store) threadPeers(th awp.ThreadID) ([]awp.Key, error) {
	rows, err := s.ro.Query("SELECT p.key FROM thread t JOIN peer p ON p.n = t.peer WHERE t.th = ? AND t.shown = 1", string(th))
	return scanAll(rows, err, scanKey)
}

func noThread(th awp.ThreadID, with string) error {
	msg := fmt.Sprintf("no thread %q", th)
	if with != "" {
		msg += " with " + with
	}
	return &awp.Error{Code: awp.NotFound, Message: msg, Hint: "awp threads lists them"}
}
