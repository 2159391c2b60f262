-- A subscription can be put aside and taken up again. Of agents' own doings it sees those that were written when the
-- subscriptions had its version or a later one: no clock has a say in it.
ALTER TABLE subscription ADD COLUMN is_active BIGINT NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1));
ALTER TABLE subscription ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE telling ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- What must hold for a firing to wake anybody, as JSON, and the name of the event that fires a schedule beside its time.
ALTER TABLE schedule ADD COLUMN guard TEXT COLLATE "C";
ALTER TABLE schedule ADD COLUMN event TEXT COLLATE "C";
CREATE INDEX schedule_of_event ON schedule (event) WHERE event IS NOT NULL;
