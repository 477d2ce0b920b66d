-- Buckets that tasks name, whose files control keeps in a folder by their id. One with a `cluster_id` goes with that cluster.
CREATE TABLE storages (
  name       TEXT    PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  workspace  TEXT    NOT NULL,
  user_id    TEXT    NOT NULL,
  user_name  TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  last_use   TEXT    NOT NULL,
  cluster_id TEXT
);
CREATE INDEX storages_cluster ON storages (cluster_id) WHERE cluster_id IS NOT NULL;
