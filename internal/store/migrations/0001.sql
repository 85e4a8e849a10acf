-- Times are Unix milliseconds, 0 for never. Small whole numbers stand for words as
-- rows.go says. Bodies are protocol lines, byte for byte as they were sent or received.

-- What the home remembers: settings once given, the last id ever handed out.
CREATE TABLE memory (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE peer (
  n         INTEGER PRIMARY KEY,
  key       BLOB NOT NULL UNIQUE,          -- 32 bytes
  name      TEXT NOT NULL DEFAULT '',
  alias     TEXT NOT NULL DEFAULT '',
  about     TEXT NOT NULL DEFAULT '',
  caps      TEXT NOT NULL DEFAULT '[]',    -- JSON array
  parked    INTEGER NOT NULL DEFAULT 0,    -- one side said bye
  last_seen INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE addr (
  peer     INTEGER NOT NULL,
  addr     TEXT NOT NULL,                  -- canonical
  source   INTEGER NOT NULL,
  added    INTEGER NOT NULL,
  last_ok  INTEGER NOT NULL DEFAULT 0,
  last_err TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (peer, addr)
) WITHOUT ROWID;
CREATE INDEX addr_addr ON addr (addr);

CREATE TABLE thread (
  n           INTEGER PRIMARY KEY,
  peer        INTEGER NOT NULL,
  th          TEXT NOT NULL,
  shown       INTEGER NOT NULL,            -- 0 until a message or state came: only chunks so far
  subject     TEXT NOT NULL,
  ours        INTEGER NOT NULL,            -- we began it
  created     INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  my_state    TEXT NOT NULL,
  my_note     TEXT NOT NULL,
  my_since    INTEGER NOT NULL,
  their_state TEXT NOT NULL,
  their_note  TEXT NOT NULL,
  their_since INTEGER NOT NULL,
  unread      INTEGER NOT NULL,            -- messages and states, not notices
  seen        TEXT NOT NULL,               -- largest id durably received
  seen_at     INTEGER NOT NULL
);
CREATE UNIQUE INDEX thread_th ON thread (th, peer);
-- None on updated: every transaction would change it, and sorting is cheap.
CREATE INDEX thread_peer ON thread (peer);

-- The log. seq only grows, and is the order of everything in this home.
CREATE TABLE line (
  seq    INTEGER PRIMARY KEY,
  peer   INTEGER NOT NULL,
  thread INTEGER,
  dir    INTEGER NOT NULL,
  type   TEXT NOT NULL,
  id     TEXT,                             -- null for what the home noted itself
  at     INTEGER NOT NULL,
  body   BLOB,                             -- null likewise
  meta   TEXT,                             -- JSON object, shape by type
  lapsed INTEGER NOT NULL DEFAULT 0        -- left the outbox unacknowledged
);
CREATE UNIQUE INDEX line_id ON line (peer, dir, id) WHERE id IS NOT NULL;
CREATE INDEX line_thread ON line (thread) WHERE thread IS NOT NULL;
CREATE INDEX line_peer ON line (peer);

-- Lines of the log that the peer has not acknowledged.
CREATE TABLE outbox (
  peer INTEGER NOT NULL,
  seq  INTEGER NOT NULL,
  at   INTEGER NOT NULL,
  PRIMARY KEY (peer, seq)
) WITHOUT ROWID;

-- Chunk lines that the peer has not acknowledged: built from the file when pushed.
CREATE TABLE chunk (
  peer   INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  blob   INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  id     TEXT NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (peer, seq)
) WITHOUT ROWID;
CREATE INDEX chunk_thread ON chunk (thread, seq);
CREATE INDEX chunk_blob ON chunk (blob);

-- Inbox lines that nobody has read. Notices are counted apart.
CREATE TABLE unread (
  seq    INTEGER PRIMARY KEY,
  peer   INTEGER NOT NULL,
  thread INTEGER,
  notice INTEGER NOT NULL
);
CREATE INDEX unread_thread ON unread (thread, seq);

CREATE TABLE blob (
  n       INTEGER PRIMARY KEY,
  peer    INTEGER NOT NULL,
  dir     INTEGER NOT NULL,
  ref     TEXT NOT NULL,
  thread  INTEGER,
  msg     INTEGER,                         -- the line that names it
  name    TEXT NOT NULL DEFAULT '',
  mime    TEXT NOT NULL DEFAULT '',
  size    INTEGER NOT NULL,                -- -1 unknown
  got     INTEGER NOT NULL DEFAULT 0,
  next    INTEGER NOT NULL DEFAULT 0,      -- chunk expected next
  named   INTEGER NOT NULL DEFAULT 0,      -- its message is in
  path    TEXT NOT NULL DEFAULT '',        -- where a person finds it
  status  TEXT NOT NULL,
  updated INTEGER NOT NULL
);
CREATE UNIQUE INDEX blob_ref ON blob (peer, dir, ref);
CREATE INDEX blob_msg ON blob (msg) WHERE msg IS NOT NULL;

-- Results of recent calls, by the token their callers chose.
CREATE TABLE token (
  token  TEXT PRIMARY KEY,
  at     INTEGER NOT NULL,
  result TEXT NOT NULL
) WITHOUT ROWID;
