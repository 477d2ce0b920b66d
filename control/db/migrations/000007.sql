-- Ids of events are never given twice, also when the newest events are forgotten: clients resume by them.
CREATE TABLE events_by_id (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  noun          TEXT NOT NULL,
  subject_id    TEXT NOT NULL,
  from_status   TEXT,
  to_status     TEXT,
  reason        TEXT NOT NULL,
  at            INTEGER NOT NULL,
  is_noteworthy INTEGER NOT NULL DEFAULT 0
);
INSERT INTO events_by_id SELECT seq, noun, subject_id, from_status, to_status, reason, at, is_noteworthy FROM events;
DROP TABLE events;
ALTER TABLE events_by_id RENAME TO events;
CREATE INDEX events_by_subject ON events (noun, subject_id, seq);
