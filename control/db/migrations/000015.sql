-- Worker pools: services whose replicas are workers (`pool` is 1); these have no balancer, so `host` is empty.
ALTER TABLE services ADD COLUMN pool INTEGER NOT NULL DEFAULT 0;

-- Jobs of a pool go by its name; their tasks by its id. `share` is what a task takes of a worker, as JSON.
-- `queued_at`: since when it waits for a worker. The cluster of an attempt is that of the worker.
ALTER TABLE managed_jobs ADD COLUMN pool TEXT;
ALTER TABLE job_tasks ADD COLUMN pool_id TEXT;
ALTER TABLE job_tasks ADD COLUMN share TEXT;
ALTER TABLE job_tasks ADD COLUMN queued_at INTEGER;
CREATE INDEX job_tasks_pool ON job_tasks (pool_id, job_id) WHERE pool_id IS NOT NULL AND settled_at IS NULL;
CREATE INDEX job_tasks_queued ON job_tasks (pool_id, job_id) WHERE queued_at IS NOT NULL;
CREATE INDEX job_tasks_worker ON job_tasks (cluster_id) WHERE pool_id IS NOT NULL AND settled_at IS NULL;
