-- What a cluster that was never up asks for, and which offers have refused it; empty once it was up.
ALTER TABLE clusters ADD COLUMN placement TEXT;
-- Offers that a provider refused lately: others do not ask for them again before `until`.
CREATE TABLE refused_offers (
  provider      TEXT    NOT NULL,
  infra         TEXT    NOT NULL,
  region        TEXT    NOT NULL,
  zone          TEXT    NOT NULL,
  instance_type TEXT    NOT NULL,
  is_spot       INTEGER NOT NULL,
  nodes         INTEGER NOT NULL,
  kind          TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  at            INTEGER NOT NULL,
  until         INTEGER NOT NULL,
  PRIMARY KEY (provider, infra, region, zone, instance_type, is_spot, nodes)
) WITHOUT ROWID;
CREATE INDEX refused_offers_until ON refused_offers (until);
