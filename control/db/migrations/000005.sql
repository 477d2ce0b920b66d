-- How often work on a request has begun since control last stopped in an orderly way.
ALTER TABLE requests ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
