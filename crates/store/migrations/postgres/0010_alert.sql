-- What agents want to be woken for. The terms are JSON. A subscription sees what the journal commits after `journal_seq`;
-- `last_due_ms` is from when on its newest message may begin, for its windows.
CREATE TABLE subscription (
    subscription_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id        TEXT COLLATE "C" NOT NULL,
    terms           TEXT COLLATE "C" NOT NULL,
    concerns_agents BIGINT NOT NULL CHECK (concerns_agents IN (0, 1)),
    journal_seq     BIGINT NOT NULL,
    last_due_ms     BIGINT,
    created_at_ms   BIGINT NOT NULL
);
CREATE INDEX subscription_of_agent ON subscription (agent_id, subscription_id);
CREATE INDEX subscription_to_agents ON subscription (concerns_agents) WHERE concerns_agents = 1;

-- How far changes have become wakes. `version` counts changes of the subscriptions, so that a stale index is noticed;
-- `journal_seq` is the newest change that was seen to, whole where `journal_done` is null, else up to that candidate.
-- One row.
CREATE TABLE alert (
    row_id        BIGINT  NOT NULL PRIMARY KEY CHECK (row_id = 1),
    version       BIGINT NOT NULL,
    subscriptions BIGINT NOT NULL CHECK (subscriptions >= 0),
    journal_seq   BIGINT NOT NULL,
    journal_done  TEXT COLLATE "C"
);
INSERT INTO alert (row_id, version, subscriptions, journal_seq, journal_done) VALUES (1, 0, 0, 0, NULL);

-- What agents' own doings say to other agents, until it was seen to: named by the event that tells of it. Written only
-- where somebody subscribes to such.
CREATE TABLE telling (
    agent_id TEXT COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,
    body     TEXT COLLATE "C" NOT NULL,
    done     TEXT COLLATE "C",
    at_ms    BIGINT NOT NULL,
    PRIMARY KEY (agent_id, seq)
);
