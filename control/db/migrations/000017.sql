-- How long an attempt at a task may live while its machines do not hear control; null has no limit.
ALTER TABLE job_tasks ADD COLUMN lease_ms INTEGER;

-- The cluster of the next attempt, where that is made while a machine of the present one is being taken away.
ALTER TABLE job_tasks ADD COLUMN next_cluster_id TEXT;
