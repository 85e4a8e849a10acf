-- Grants: those we issued, those we hold, and those that peers presented about themselves.
-- A revoked one stays until it has long expired: its holder must not present it again.
CREATE TABLE grant (
  hash    TEXT NOT NULL,
  role    INTEGER NOT NULL,
  iss     BLOB NOT NULL,                   -- 32 bytes, as sub and aud
  sub     BLOB NOT NULL,
  aud     BLOB,                            -- null: none; of a held one also the peer it was introduced with
  caps    TEXT NOT NULL,                   -- JSON array
  exp     INTEGER NOT NULL,
  body    BLOB NOT NULL,                   -- as it was signed, byte for byte
  giver   INTEGER NOT NULL,                -- the peer that handed it over, 0 for ours
  created INTEGER NOT NULL,
  revoked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hash, role)
) WITHOUT ROWID;
CREATE INDEX grant_sub ON grant (sub);
CREATE INDEX grant_giver ON grant (giver, role);

-- Who introduced a peer that we have not met, 0: nobody.
ALTER TABLE peer ADD COLUMN introducer INTEGER NOT NULL DEFAULT 0;
CREATE INDEX peer_introducer ON peer (introducer) WHERE introducer <> 0;
