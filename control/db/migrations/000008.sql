-- Who works on the rows: the process that wrote the newest epoch. What an older one writes is refused.
CREATE TABLE lease (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  epoch INTEGER NOT NULL
);
INSERT INTO lease (id, epoch) VALUES (1, 0);
