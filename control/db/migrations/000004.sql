-- What a cluster was made for, as JSON; null for those of users.
ALTER TABLE clusters ADD COLUMN made_for TEXT;
-- Which uploaded files its nodes have where, sealed; null before the first that were brought.
ALTER TABLE clusters ADD COLUMN parcels BLOB;

-- Services. `scaling` is JSON: what the autoscaler keeps from one decision to the next.
CREATE TABLE services (
  id                TEXT PRIMARY KEY,
  name              TEXT NOT NULL,
  status            TEXT NOT NULL,
  reason            TEXT NOT NULL,
  wanted            TEXT NOT NULL,
  wanted_because    TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  user_name         TEXT NOT NULL,
  workspace         TEXT NOT NULL,
  host              TEXT NOT NULL,
  port              INTEGER NOT NULL,
  version           INTEGER NOT NULL,
  scaling           TEXT NOT NULL,
  problem           TEXT,
  ready_at          INTEGER,
  created_at        INTEGER NOT NULL,
  status_changed_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX services_live ON services (name) WHERE status <> 'GONE';

-- What a service runs, or ran. `task` is sealed: the document with its secrets, and its uploaded files.
CREATE TABLE service_versions (
  service_id TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  version    INTEGER NOT NULL,
  task       BLOB NOT NULL,
  command    TEXT NOT NULL,
  mode       TEXT NOT NULL,
  because    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ready_at   INTEGER,
  given_up   TEXT,
  PRIMARY KEY (service_id, version)
);

-- Replicas, each with a cluster of its own. Failed ones stay for a while, to be looked at.
CREATE TABLE replicas (
  id                TEXT PRIMARY KEY,
  service_id        TEXT NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  number            INTEGER NOT NULL,
  version           INTEGER NOT NULL,
  status            TEXT NOT NULL,
  reason            TEXT NOT NULL,
  wanted            TEXT NOT NULL,
  wanted_because    TEXT NOT NULL,
  is_spot           INTEGER NOT NULL,
  accelerators      TEXT,
  cluster_id        TEXT,
  cluster_name      TEXT NOT NULL,
  job_id            INTEGER,
  unplaced          INTEGER NOT NULL,
  host              TEXT,
  port              INTEGER,
  server_port       INTEGER,
  listen_port       INTEGER,
  run_at            INTEGER,
  ready_at          INTEGER,
  drain_until       INTEGER,
  created_at        INTEGER NOT NULL,
  status_changed_at INTEGER NOT NULL,
  ended_at          INTEGER,
  UNIQUE (service_id, number)
);
CREATE INDEX replicas_open ON replicas (service_id) WHERE ended_at IS NULL;
CREATE INDEX replicas_by_cluster ON replicas (cluster_id);

-- What is ours on machines that left their pool, or that it logs in on in another way now, until it is
-- removed. `entry` is how to log in there, sealed; `facts` is JSON.
CREATE TABLE ssh_leftovers (
  id       TEXT PRIMARY KEY,
  pool     TEXT NOT NULL,
  name     TEXT NOT NULL,
  machine  TEXT NOT NULL,
  entry    BLOB NOT NULL,
  facts    TEXT NOT NULL,
  problem  TEXT,
  left_at  INTEGER NOT NULL,
  tried_at INTEGER NOT NULL
);
