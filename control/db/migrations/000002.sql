-- The hooks of the latest launch that had any, with what they run in, sealed; and a new word for
-- each change of them.
ALTER TABLE clusters ADD COLUMN hooks BLOB;
ALTER TABLE clusters ADD COLUMN hooks_version TEXT;
-- Whoever wants the cluster stopped or gone wants that no hook holds it up.
ALTER TABLE clusters ADD COLUMN skip_hooks INTEGER NOT NULL DEFAULT 0;

-- Of remarks: nobody should miss it.
ALTER TABLE events ADD COLUMN is_noteworthy INTEGER NOT NULL DEFAULT 0;

-- Stops, teardowns and preemptions, as their nodes told of them. `events` and `runs` are JSON.
-- `hook_until` is when the hook that runs although they are over has ended for sure.
CREATE TABLE lifecycles (
  id          TEXT NOT NULL,
  cluster_id  TEXT NOT NULL,
  rank        INTEGER NOT NULL,
  revision    INTEGER NOT NULL,
  events      TEXT NOT NULL,
  cause       TEXT NOT NULL,
  because     TEXT NOT NULL,
  status      TEXT NOT NULL,
  skip_hooks  INTEGER NOT NULL DEFAULT 0,
  hooks       INTEGER NOT NULL DEFAULT 0,
  runs        TEXT NOT NULL,
  deadline_at INTEGER,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  hook_until  INTEGER,
  PRIMARY KEY (cluster_id, id, rank)
);
CREATE INDEX lifecycles_by_age ON lifecycles (cluster_id, started_at);
CREATE INDEX lifecycles_open ON lifecycles (cluster_id) WHERE ended_at IS NULL;
CREATE INDEX lifecycles_hook_until ON lifecycles (hook_until) WHERE hook_until IS NOT NULL;
