-- How long an attempt at a task may live while its machines do not hear control; null has no limit.
ALTER TABLE job_tasks ADD COLUMN lease_ms INTEGER;
