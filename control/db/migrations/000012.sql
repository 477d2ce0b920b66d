-- What a cluster's nodes boot and how large their disks are, as JSON; empty for clusters of before.
ALTER TABLE clusters ADD COLUMN machine TEXT;
