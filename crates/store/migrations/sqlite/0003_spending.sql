-- What a day may cost, in millionths of a dollar, as people set it. The scope is empty for all agents together.
CREATE TABLE cap (
    agent_id       TEXT    NOT NULL PRIMARY KEY,
    daily_microusd INTEGER NOT NULL CHECK (daily_microusd >= 0),
    set_at_ms      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a model request may cost at most until it is settled, and what it did cost. The decision that let it through
-- stands beside it, written before the request leaves.
CREATE TABLE spend (
    operation_id      BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    run_key           BLOB    NOT NULL CHECK (length(run_key) = 32),
    agent_id          TEXT    NOT NULL,
    day               INTEGER NOT NULL,
    model_ref         TEXT    NOT NULL,
    rule              TEXT    NOT NULL,
    policy_version    TEXT    NOT NULL,
    reserved_microusd INTEGER NOT NULL CHECK (reserved_microusd >= 0),
    settled_microusd  INTEGER NOT NULL CHECK (settled_microusd >= 0)
) STRICT, WITHOUT ROWID;

-- What a run cost, lost requests included.
CREATE INDEX spend_of_run ON spend (run_key);

-- The sums of each agent and day, moved in the same transactions: adding up rows before every request would cost more
-- the longer the day is. The agent is empty for all of them together.
CREATE TABLE spend_day (
    agent_id          TEXT    NOT NULL,
    day               INTEGER NOT NULL,
    reserved_microusd INTEGER NOT NULL CHECK (reserved_microusd >= 0),
    settled_microusd  INTEGER NOT NULL CHECK (settled_microusd >= 0),
    requests          INTEGER NOT NULL,
    PRIMARY KEY (agent_id, day)
) STRICT, WITHOUT ROWID;

-- That a person confirmed, under these rules, that a provider may be shown an agent's work.
CREATE TABLE privacy_receipt (
    provider       TEXT    NOT NULL,
    policy_version TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    at_ms          INTEGER NOT NULL,
    PRIMARY KEY (provider, policy_version)
) STRICT, WITHOUT ROWID;

-- What is kept of an attempt at a model round, as JSON.
ALTER TABLE step ADD COLUMN attempt TEXT;

-- The model that a person chose for an agent; none for the default.
ALTER TABLE agent ADD COLUMN model_ref TEXT;
