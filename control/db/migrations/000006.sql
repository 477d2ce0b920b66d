-- Lists go by key, and no statement of a hot path reads a table from end to end. An index over part of
-- a table holds exactly what is looked for: live rows, rows with work to do, rows to forget.
DROP INDEX clusters_by_launch;
CREATE INDEX clusters_by_name ON clusters (name, launched_at);
CREATE INDEX clusters_live ON clusters (user_id, id) WHERE status <> 'GONE';
CREATE INDEX clusters_unsettled ON clusters (id) WHERE status <> 'GONE' AND status <> wanted;
CREATE INDEX clusters_up ON clusters (id) WHERE status = 'UP';
CREATE INDEX clusters_gone ON clusters (status_changed_at) WHERE status = 'GONE';

CREATE INDEX services_gone ON services (status_changed_at) WHERE status = 'GONE';
CREATE INDEX replicas_live ON replicas (number) WHERE status <> 'GONE';

DROP INDEX requests_by_status;
DROP INDEX requests_by_age;
DROP INDEX requests_by_end;
CREATE INDEX requests_by_age ON requests (created_at, id);
CREATE INDEX requests_by_cluster ON requests (cluster_name, created_at, id);
CREATE INDEX requests_by_end ON requests (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX requests_unended ON requests (created_at, id) WHERE finished_at IS NULL;
CREATE INDEX requests_unended_of_cluster ON requests (cluster_name, created_at, id) WHERE finished_at IS NULL;
