-- What retention and sweeping need to know.

-- The generation in which a blob was last put. One that is put again while nobody names it must not be taken away
-- from under whoever is about to name it, so only those of long past generations are looked at.
ALTER TABLE blob ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- What was taken of a run that has ended: 0 nothing, 1 its trace, 2 its contents as well.
ALTER TABLE run ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned BETWEEN 0 AND 2);

-- The oldest of those of which something is left are asked for once a day.
CREATE INDEX run_ended ON run (ended_at_ms, agent_id, run_key) WHERE ended_at_ms IS NOT NULL AND pruned < 2;

-- How far the care of data has come: in which generation something was last taken away and not yet swept, or 0;
-- and the rest by time. One row.
CREATE TABLE care (
    row_id           INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    generation       INTEGER NOT NULL,
    generation_at_ms INTEGER NOT NULL,
    clock_ms         INTEGER NOT NULL,
    pruned_at_ms     INTEGER NOT NULL,
    unswept          INTEGER NOT NULL
) STRICT;
INSERT INTO care (row_id, generation, generation_at_ms, clock_ms, pruned_at_ms, unswept)
VALUES (1, 1, 0, 0, 0, 0);
