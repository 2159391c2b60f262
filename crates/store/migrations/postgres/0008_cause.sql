-- What a message came from, how urgent it is and how deep in a chain of agents, as JSON.
ALTER TABLE message ADD COLUMN cause TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- Where a message stands in line, the least first, and from which moment on it may begin.
ALTER TABLE queue ADD COLUMN rank BIGINT NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN due_at_ms BIGINT;
UPDATE queue SET rank = seq;
CREATE INDEX queue_rank ON queue (agent_id, rank);
CREATE INDEX queue_due ON queue (due_at_ms) WHERE due_at_ms IS NOT NULL;

-- Why: where the cause came from, what it was, and which run took it up.
ALTER TABLE wake ADD COLUMN source TEXT COLLATE "C" NOT NULL DEFAULT 'operator';
ALTER TABLE wake ADD COLUMN cause TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE wake ADD COLUMN absorbed_by BYTEA CHECK (length(absorbed_by) = 32);
CREATE INDEX wake_of_agent ON wake (agent_id, at_ms);
CREATE INDEX wake_absorbed ON wake (absorbed_by) WHERE absorbed_by IS NOT NULL;

-- Refusals by the day. The first of them are wake records as well.
CREATE TABLE refusal (
    agent_id    TEXT COLLATE "C" NOT NULL,
    source      TEXT COLLATE "C" NOT NULL,
    code        TEXT COLLATE "C" NOT NULL,
    day         BIGINT NOT NULL,
    count       BIGINT NOT NULL CHECK (count > 0),
    first_at_ms BIGINT NOT NULL,
    last_at_ms  BIGINT NOT NULL,
    PRIMARY KEY (agent_id, source, code, day)
);

-- A person may stop an agent, which the old check did not know; who may wake it; until when it sleeps.
ALTER TABLE agent DROP CONSTRAINT agent_control_check;
ALTER TABLE agent ADD CONSTRAINT agent_control_check CHECK (control IN ('running', 'paused', 'stopped'));
ALTER TABLE agent ADD CONSTRAINT agent_lifecycle_check
    CHECK (lifecycle IN ('created', 'active', 'dormant', 'destroyed'));
ALTER TABLE agent ADD COLUMN mode TEXT COLLATE "C" NOT NULL DEFAULT 'hybrid'
    CHECK (mode IN ('autonomous', 'interactive', 'hybrid'));
ALTER TABLE agent ADD COLUMN sleep_until_ms BIGINT;
