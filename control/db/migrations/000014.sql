-- Managed jobs. `request_id` and `rank` are those of the launch and of the copy that it submits: repeated, it adds
-- nothing. Numbers are never used again. `root_id`: the job group that it has joined, as which number of that, and
-- the job and its task that submitted it.
CREATE TABLE managed_jobs (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id    TEXT    NOT NULL,
  rank          INTEGER NOT NULL,
  copies        INTEGER NOT NULL,
  name          TEXT    NOT NULL,
  execution     TEXT,
  root_id       INTEGER,
  root_number   INTEGER,
  parent_id     INTEGER,
  parent_number INTEGER,
  user_id       TEXT    NOT NULL,
  user_name     TEXT    NOT NULL,
  workspace     TEXT    NOT NULL,
  command       TEXT    NOT NULL,
  priority      INTEGER NOT NULL,
  submitted_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX managed_jobs_request ON managed_jobs (request_id, rank);
CREATE UNIQUE INDEX managed_jobs_root ON managed_jobs (root_id, root_number);
CREATE INDEX managed_jobs_name ON managed_jobs (name, id);

-- What a launch submitted, for all of its copies: sealed, the tasks with their secrets; and the uploaded files.
CREATE TABLE job_documents (
  request_id TEXT PRIMARY KEY,
  document   BLOB NOT NULL,
  blob_id    TEXT
);

-- The tasks of managed jobs, by number from 0, each with the attempt that is under way or was the last one.
-- User and workspace are those of the job. `delay_ms`: how long it may go on after the primary tasks of its group have
-- ended. `settled_at`: it has ended, and nothing of it is left.
CREATE TABLE job_tasks (
  id                TEXT    PRIMARY KEY,
  job_id            INTEGER NOT NULL REFERENCES managed_jobs (id) ON DELETE CASCADE,
  number            INTEGER NOT NULL,
  name              TEXT    NOT NULL,
  is_primary        INTEGER NOT NULL,
  delay_ms          INTEGER NOT NULL,
  user_id           TEXT    NOT NULL,
  workspace         TEXT    NOT NULL,
  resources         TEXT    NOT NULL,
  status            TEXT    NOT NULL,
  reason            TEXT    NOT NULL,
  waits_for         TEXT,
  wanted            TEXT    NOT NULL,
  wanted_because    TEXT    NOT NULL,
  wanted_by         TEXT,
  attempt           INTEGER NOT NULL,
  cluster_id        TEXT,
  cluster_name      TEXT    NOT NULL,
  cluster_job       INTEGER,
  infra             TEXT,
  recoveries        INTEGER NOT NULL,
  restarts          INTEGER NOT NULL,
  failures          INTEGER NOT NULL,
  ran_ms            INTEGER NOT NULL,
  run_at            INTEGER,
  started_at        INTEGER,
  recovered_at      INTEGER,
  ended_at          INTEGER,
  settled_at        INTEGER,
  status_changed_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX job_tasks_number ON job_tasks (job_id, number);
CREATE INDEX job_tasks_user ON job_tasks (user_id, job_id);
CREATE INDEX job_tasks_workspace ON job_tasks (workspace, job_id);
CREATE INDEX job_tasks_status ON job_tasks (status, job_id);
CREATE INDEX job_tasks_settled ON job_tasks (settled_at, job_id);

-- How many tasks there are, and how many of them are the first of their job: kept with each change, so that nobody
-- counts them.
CREATE TABLE job_task_counts (
  user_id   TEXT    NOT NULL,
  workspace TEXT    NOT NULL,
  status    TEXT    NOT NULL,
  tasks     INTEGER NOT NULL,
  jobs      INTEGER NOT NULL,
  PRIMARY KEY (user_id, workspace, status)
) WITHOUT ROWID;
