-- People and service accounts. A deleted user's row goes; what it owned keeps the id and the name.
CREATE TABLE users (
  id                  TEXT    PRIMARY KEY,
  name                TEXT    NOT NULL,
  kind                TEXT    NOT NULL,
  role                TEXT    NOT NULL,
  has_group_role      INTEGER NOT NULL DEFAULT 0,
  password            TEXT,
  groups              TEXT    NOT NULL DEFAULT '[]',
  preferred_workspace TEXT,
  created_at          INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX users_name ON users (name);

-- Tokens of service accounts. Only a SHA-256 of the secret is stored.
CREATE TABLE tokens (
  id           TEXT    PRIMARY KEY,
  name         TEXT    NOT NULL,
  digest       BLOB    NOT NULL,
  user_id      TEXT    NOT NULL,
  creator_id   TEXT    NOT NULL,
  creator_name TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX tokens_name ON tokens (name);
CREATE UNIQUE INDEX tokens_digest ON tokens (digest);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE INDEX tokens_creator ON tokens (creator_id);

-- Logins of browsers and command lines, by a SHA-256 of the cookie's value.
CREATE TABLE sessions (
  digest     BLOB    PRIMARY KEY,
  user_id    TEXT    NOT NULL,
  method     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Logins of clients that a user has approved and the client has not fetched yet, by the challenge.
CREATE TABLE approvals (
  challenge  TEXT    PRIMARY KEY,
  user_id    TEXT    NOT NULL,
  method     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX approvals_expiry ON approvals (expires_at);

-- Versions of the configuration of control, workspaces included. The newest one is in force.
CREATE TABLE configurations (
  version    INTEGER PRIMARY KEY,
  document   BLOB    NOT NULL,
  user_id    TEXT    NOT NULL,
  user_name  TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);

-- Who did what. Each entry's hash covers the entry and the hash of the one before it.
CREATE TABLE audit (
  seq        INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  user_id    TEXT    NOT NULL,
  user_name  TEXT    NOT NULL,
  credential TEXT    NOT NULL,
  address    TEXT    NOT NULL,
  operation  TEXT    NOT NULL,
  subject    TEXT,
  outcome    TEXT    NOT NULL,
  reason     TEXT,
  request_id TEXT,
  hash       BLOB    NOT NULL
);
-- The newest entry that was dropped for its age: the chain begins after it.
CREATE TABLE audit_dropped (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  seq  INTEGER NOT NULL,
  hash BLOB    NOT NULL
);

-- The user on whose behalf something happened; empty where control acted by itself.
ALTER TABLE events ADD COLUMN actor TEXT;
-- The user on whose behalf a row should be what is wanted.
ALTER TABLE clusters ADD COLUMN wanted_by TEXT;
ALTER TABLE services ADD COLUMN wanted_by TEXT;
ALTER TABLE replicas ADD COLUMN wanted_by TEXT;
-- Where a request's objects are created, and how its caller was identified.
ALTER TABLE requests ADD COLUMN workspace TEXT NOT NULL DEFAULT 'default';
ALTER TABLE requests ADD COLUMN credential TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_user ON requests (user_id, created_at, id);
-- The workspace that this machine's own user prefers, who has no row among users.
CREATE TABLE local_preference (
  id        INTEGER PRIMARY KEY CHECK (id = 1),
  workspace TEXT    NOT NULL
);
-- What a workspace uses, and what it has cost.
CREATE INDEX usage_ended ON usage_intervals (ended_at);
