-- Tasks of managed jobs wait until fewer jobs are under way, or fewer are being launched: `queued_for` says for which of
-- the two, `queued_rank` in which order; `turn` is for the task before it in its pipeline. `launching_at`: since when a
-- task counts as being launched. `begun_at`: when its first attempt began, until nothing of it is left; by it the jobs
-- under way are counted, however many wait. `called_back`: the number of the event up to which its `event_callback` was
-- run, -1 before its submission was told; null where it has none, or nothing is left to tell.
ALTER TABLE job_tasks ADD COLUMN queued_for TEXT;
ALTER TABLE job_tasks ADD COLUMN queued_rank INTEGER;
ALTER TABLE job_tasks ADD COLUMN launching_at INTEGER;
ALTER TABLE job_tasks ADD COLUMN begun_at INTEGER;
ALTER TABLE job_tasks ADD COLUMN called_back INTEGER;
CREATE INDEX job_tasks_queue ON job_tasks (queued_for, queued_rank, job_id, number) WHERE queued_for IS NOT NULL;
CREATE INDEX job_tasks_launching ON job_tasks (launching_at) WHERE launching_at IS NOT NULL;
CREATE INDEX job_tasks_begun ON job_tasks (job_id, begun_at) WHERE begun_at IS NOT NULL;
CREATE INDEX job_tasks_due ON job_tasks (settled_at, queued_for);
CREATE INDEX job_tasks_called_back ON job_tasks (job_id) WHERE called_back IS NOT NULL;
