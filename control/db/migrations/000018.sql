-- Tasks that wait for a worker are read in the order in which they get one; `queued_rank` puts priorities first.
DROP INDEX job_tasks_queued;
CREATE INDEX job_tasks_queued ON job_tasks (pool_id, queued_rank, job_id, number) WHERE queued_at IS NOT NULL;
UPDATE job_tasks
SET queued_rank = (SELECT -priority FROM managed_jobs WHERE managed_jobs.id = job_tasks.job_id)
WHERE queued_at IS NOT NULL;
