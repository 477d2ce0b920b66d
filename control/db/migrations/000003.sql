-- Pools of machines that are reached over SSH; `config` is the document of the pool, sealed.
CREATE TABLE ssh_pools (
  name       TEXT PRIMARY KEY,
  config     BLOB NOT NULL,
  updated_at INTEGER NOT NULL
);

-- Their machines. `machine` is where one was found, and the way there; `facts` is JSON; both are null
-- before the first look. `problem` says why it cannot be used; `is_dirty` marks one that a cluster
-- has left without its being cleaned.
CREATE TABLE ssh_hosts (
  pool        TEXT NOT NULL REFERENCES ssh_pools (name) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  machine     TEXT,
  facts       TEXT,
  problem     TEXT,
  is_draining INTEGER NOT NULL DEFAULT 0,
  is_dirty    INTEGER NOT NULL DEFAULT 0,
  looked_at   INTEGER,
  deployed_at INTEGER,
  PRIMARY KEY (pool, name)
);

-- Which machine is which node of which cluster. A machine is no more than one node, whatever pools
-- it is in.
CREATE TABLE ssh_nodes (
  cluster_id   TEXT NOT NULL,
  rank         INTEGER NOT NULL,
  cluster_name TEXT NOT NULL,
  pool         TEXT NOT NULL,
  host         TEXT NOT NULL,
  machine      TEXT NOT NULL UNIQUE,
  state        TEXT NOT NULL,
  PRIMARY KEY (cluster_id, rank)
);
CREATE INDEX ssh_nodes_by_host ON ssh_nodes (pool, host);

-- The key that a machine showed first.
CREATE TABLE ssh_host_keys (
  machine     TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  seen_at     INTEGER NOT NULL
);
