-- What people are asked, with the answer once there is one. The body is the whole record as JSON; the columns are what
-- it is looked up by. `is_applied` says that the run has been told.
CREATE TABLE decision (
    decision_id    BLOB    NOT NULL PRIMARY KEY CHECK (length(decision_id) = 32),
    agent_id       TEXT    NOT NULL,
    run_key        BLOB    NOT NULL CHECK (length(run_key) = 32),
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'answered', 'cancelled', 'withdrawn')),
    version        INTEGER NOT NULL CHECK (version > 0),
    asked_at_ms    INTEGER NOT NULL,
    is_applied     INTEGER NOT NULL CHECK (is_applied IN (0, 1)),
    body           TEXT    NOT NULL
) STRICT;
CREATE INDEX decision_pending ON decision (asked_at_ms) WHERE status = 'pending';
CREATE INDEX decision_pending_of_agent ON decision (agent_id) WHERE status = 'pending';
CREATE INDEX decision_asked ON decision (asked_at_ms);
CREATE INDEX decision_of_run ON decision (run_key);

-- That somebody was told of a question, by one way, when it was so severe.
CREATE TABLE announcement (
    decision_id BLOB    NOT NULL CHECK (length(decision_id) = 32),
    severity    TEXT    NOT NULL,
    way         TEXT    NOT NULL,
    tries       INTEGER NOT NULL,
    is_done     INTEGER NOT NULL CHECK (is_done IN (0, 1)),
    error       TEXT,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (decision_id, severity, way)
) STRICT, WITHOUT ROWID;

-- Brakes that are on. The agent is empty for all of them together.
CREATE TABLE brake (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    reason   TEXT    NOT NULL,
    channel  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When a run that waits is to be looked at again; none for at once.
ALTER TABLE run ADD COLUMN due_at_ms INTEGER;
-- Anew, so that it answers alone who has something to do. The status, which is always the same, makes the planner take it
-- rather than the one of all runs.
DROP INDEX run_open;
CREATE INDEX run_open ON run (agent_id, status, due_at_ms, run_key) WHERE status = 'open';
CREATE INDEX run_due ON run (due_at_ms) WHERE status = 'open' AND due_at_ms IS NOT NULL;

-- How often it was taken up since it last moved, and why it cannot go on.
ALTER TABLE run ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN fault TEXT;
CREATE INDEX run_quarantined ON run (started_at_ms) WHERE status = 'quarantined';
CREATE INDEX run_quarantined_of_agent ON run (agent_id, status) WHERE status = 'quarantined';
