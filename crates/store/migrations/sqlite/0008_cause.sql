-- What a message came from, how urgent it is and how deep in a chain of agents, as JSON.
ALTER TABLE message ADD COLUMN cause TEXT NOT NULL DEFAULT '{}';

-- Where a message stands in line, the least first, and from which moment on it may begin.
ALTER TABLE queue ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN due_at_ms INTEGER;
UPDATE queue SET rank = seq;
CREATE INDEX queue_rank ON queue (agent_id, rank);
CREATE INDEX queue_due ON queue (due_at_ms) WHERE due_at_ms IS NOT NULL;

-- Why: where the cause came from, what it was, and which run took it up.
ALTER TABLE wake ADD COLUMN source TEXT NOT NULL DEFAULT 'operator';
ALTER TABLE wake ADD COLUMN cause TEXT NOT NULL DEFAULT '{}';
ALTER TABLE wake ADD COLUMN absorbed_by BLOB CHECK (length(absorbed_by) = 32);
CREATE INDEX wake_of_agent ON wake (agent_id, at_ms);
CREATE INDEX wake_absorbed ON wake (absorbed_by) WHERE absorbed_by IS NOT NULL;

-- Refusals by the day. The first of them are wake records as well.
CREATE TABLE refusal (
    agent_id    TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    day         INTEGER NOT NULL,
    count       INTEGER NOT NULL CHECK (count > 0),
    first_at_ms INTEGER NOT NULL,
    last_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (agent_id, source, code, day)
) STRICT, WITHOUT ROWID;

-- A person may stop an agent, which the old check did not know; who may wake it; until when it sleeps.
CREATE TABLE agent_anew (
    agent_id       TEXT    NOT NULL PRIMARY KEY,
    visibility     TEXT    NOT NULL CHECK (visibility IN ('public', 'private')),
    lifecycle      TEXT    NOT NULL CHECK (lifecycle IN ('created', 'active', 'dormant', 'destroyed')),
    control        TEXT    NOT NULL CHECK (control IN ('running', 'paused', 'stopped')),
    mode           TEXT    NOT NULL CHECK (mode IN ('autonomous', 'interactive', 'hybrid')),
    sleep_until_ms INTEGER,
    workspace      TEXT    NOT NULL,
    model_ref      TEXT,
    created_at_ms  INTEGER NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    model_rounds   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO agent_anew SELECT agent_id, visibility, lifecycle, control, 'hybrid', NULL, workspace, model_ref,
    created_at_ms, input_tokens, output_tokens, model_rounds FROM agent;
DROP TABLE agent;
ALTER TABLE agent_anew RENAME TO agent;
