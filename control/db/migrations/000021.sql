-- Secrets that tasks name: `owner` is the user or the workspace whose they are, by `scope`. The value is sealed.
CREATE TABLE secrets (
  scope      TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  value      BLOB    NOT NULL,
  user_name  TEXT    NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (scope, owner, name)
);
