-- `begun_at`: when the first attempt at a task of a managed job began, until nothing of it is left. By it the jobs under way
-- are counted, however many wait. `called_back`: the number of the event up to which the `event_callback` of a task was
-- run, -1 before its submission was told; null where it has none, or nothing is left to tell.
ALTER TABLE job_tasks ADD COLUMN begun_at INTEGER;
ALTER TABLE job_tasks ADD COLUMN called_back INTEGER;
UPDATE job_tasks SET begun_at = status_changed_at WHERE settled_at IS NULL AND attempt > 0 AND pool_id IS NULL;
DROP INDEX job_tasks_begun;
DROP INDEX job_tasks_open;
CREATE INDEX job_tasks_begun ON job_tasks (job_id, begun_at) WHERE begun_at IS NOT NULL;
CREATE INDEX job_tasks_due ON job_tasks (settled_at, queued_for);
CREATE INDEX job_tasks_called_back ON job_tasks (job_id) WHERE called_back IS NOT NULL;
