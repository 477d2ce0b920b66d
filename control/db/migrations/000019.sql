-- Recipes: tasks that users keep and share. Those that control ships belong to the user `system`. Each content that a
-- recipe had is a version of it; `version` is the latest one.
CREATE TABLE recipes (
  name TEXT PRIMARY KEY,
  recipe_type TEXT NOT NULL,
  description TEXT,
  pinned INTEGER NOT NULL,
  version INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  user_name TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by_id TEXT,
  updated_by_name TEXT
);
CREATE TABLE recipe_versions (
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (name, version)
) WITHOUT ROWID;
