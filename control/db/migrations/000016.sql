-- Tasks of managed jobs wait until fewer jobs are under way, or fewer are being launched: `queued_for` says for which of
-- the two, `queued_rank` in which order; `turn` is for the task before it in its pipeline. `launching_at`: since when a task counts as being launched.
ALTER TABLE job_tasks ADD COLUMN queued_for TEXT;
ALTER TABLE job_tasks ADD COLUMN queued_rank INTEGER;
ALTER TABLE job_tasks ADD COLUMN launching_at INTEGER;
CREATE INDEX job_tasks_queue ON job_tasks (queued_for, queued_rank, job_id, number) WHERE queued_for IS NOT NULL;
CREATE INDEX job_tasks_open ON job_tasks (id) WHERE settled_at IS NULL AND queued_for IS NULL;
CREATE INDEX job_tasks_begun ON job_tasks (job_id) WHERE settled_at IS NULL AND attempt > 0;
CREATE INDEX job_tasks_launching ON job_tasks (launching_at) WHERE launching_at IS NOT NULL;
