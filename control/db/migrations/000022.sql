-- Volumes that tasks attach. `document` is its description as JSON, `path` the folder on its machine where it is one;
-- one with a `problem` cannot be attached.
CREATE TABLE volumes (
  name             TEXT    PRIMARY KEY,
  id               TEXT    NOT NULL UNIQUE,
  workspace        TEXT    NOT NULL,
  user_id          TEXT    NOT NULL,
  user_name        TEXT    NOT NULL,
  document         TEXT    NOT NULL,
  creation_yaml    TEXT,
  path             TEXT,
  problem          TEXT,
  created_at       INTEGER NOT NULL,
  last_attached_at INTEGER,
  last_use         TEXT
);
-- Which clusters a volume was attached to; those that are GONE use nothing.
CREATE TABLE volume_uses (
  volume_id  TEXT NOT NULL REFERENCES volumes (id) ON DELETE CASCADE,
  cluster_id TEXT NOT NULL,
  PRIMARY KEY (volume_id, cluster_id)
);
