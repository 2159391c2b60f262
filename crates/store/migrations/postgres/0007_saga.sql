-- Writes that touch two databases. A row begins with the intent of its action and ends with its result; one that a
-- crash left between the two is finished or taken back, and one that can be neither waits here for a person.
CREATE TABLE saga (
    operation_id  BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    run_key       BYTEA  NOT NULL CHECK (octet_length(run_key) = 32),
    phase         TEXT   COLLATE "C" NOT NULL CHECK (phase IN ('intent', 'agent', 'compensation')),
    status        TEXT   COLLATE "C" NOT NULL CHECK (status IN ('open', 'completed', 'compensated', 'stuck')),
    last_error    TEXT   COLLATE "C",
    updated_at_ms BIGINT NOT NULL,
    CHECK ((phase = 'intent' AND status = 'open') OR (phase = 'agent' AND status = 'completed') OR phase = 'compensation')
) WITH (fillfactor = 70);

-- What recovery looks for. Nearly always nothing, however many there were.
CREATE INDEX saga_unfinished ON saga (updated_at_ms, operation_id) WHERE status IN ('open', 'stuck');

-- Which journal the sagas were written to, so that a missing or another one is noticed. One row.
CREATE TABLE journal_host (
    row_id  BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id TEXT   COLLATE "C" NOT NULL
);
