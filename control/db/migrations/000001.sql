-- A stored operation on its way. `input` is sealed, and dropped once the request has ended.
CREATE TABLE requests (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  status       TEXT NOT NULL,
  queue        TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  user_name    TEXT NOT NULL,
  cluster_name TEXT,
  client_api   INTEGER,
  input        BLOB,
  progress     TEXT,
  status_note  TEXT,
  return_value TEXT,
  error        TEXT,
  created_at   INTEGER NOT NULL,
  finished_at  INTEGER
);
CREATE INDEX requests_by_status ON requests (status, created_at);
CREATE INDEX requests_by_age ON requests (created_at);
CREATE INDEX requests_by_end ON requests (finished_at);

CREATE TABLE clusters (
  id                TEXT PRIMARY KEY,
  name              TEXT NOT NULL,
  status            TEXT NOT NULL,
  wanted            TEXT NOT NULL,
  wanted_because    TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  user_name         TEXT NOT NULL,
  workspace         TEXT NOT NULL,
  provider          TEXT NOT NULL,
  nodes             INTEGER NOT NULL,
  offer             TEXT NOT NULL,
  addresses         TEXT NOT NULL,
  ports             TEXT NOT NULL,
  labels            TEXT NOT NULL,
  task_yaml         TEXT NOT NULL,
  command           TEXT NOT NULL,
  autostop          TEXT,
  problem           TEXT,
  ever_up           INTEGER NOT NULL DEFAULT 0,
  launched_at       INTEGER NOT NULL,
  status_changed_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX clusters_by_live_name ON clusters (name) WHERE status <> 'GONE';
CREATE INDEX clusters_by_launch ON clusters (launched_at);

-- When a cluster's nodes were on, for the cost report.
CREATE TABLE usage_intervals (
  cluster_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  PRIMARY KEY (cluster_id, started_at)
);

-- What happened, to whom, why. `from_status` and `to_status` are null for a remark.
CREATE TABLE events (
  seq         INTEGER PRIMARY KEY,
  noun        TEXT NOT NULL,
  subject_id  TEXT NOT NULL,
  from_status TEXT,
  to_status   TEXT,
  reason      TEXT NOT NULL,
  at          INTEGER NOT NULL
);
CREATE INDEX events_by_subject ON events (noun, subject_id, seq);
