-- Rows whose last pass failed: how often in a row, why, and when the next one is due.
CREATE TABLE attempts (
  noun       TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  failures   INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  failed_at  INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  PRIMARY KEY (noun, subject_id)
);
