-- The name of its job, as `user_id` and `workspace` are. What jobs are mostly filtered by lies in one index, which lists read alone.
ALTER TABLE job_tasks ADD COLUMN job_name TEXT NOT NULL DEFAULT '';
UPDATE job_tasks SET job_name = (SELECT name FROM managed_jobs WHERE id = job_id);
DROP INDEX job_tasks_status;
CREATE INDEX job_tasks_status ON job_tasks (status, job_id, job_name, user_id, workspace);
