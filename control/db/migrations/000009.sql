-- Replicas that are gone stay with their service: the live ones of each are found without them.
DROP INDEX replicas_live;
CREATE INDEX replicas_live ON replicas (service_id, number) WHERE status <> 'GONE';
