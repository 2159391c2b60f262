-- What agents want to be woken for. The terms are JSON. A subscription sees what the journal commits after `journal_seq`;
-- `last_due_ms` is from when on its newest message may begin, for its windows.
CREATE TABLE subscription (
    subscription_id TEXT    NOT NULL PRIMARY KEY,
    agent_id        TEXT    NOT NULL,
    terms           TEXT    NOT NULL,
    concerns_agents INTEGER NOT NULL CHECK (concerns_agents IN (0, 1)),
    journal_seq     INTEGER NOT NULL,
    last_due_ms     INTEGER,
    created_at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_of_agent ON subscription (agent_id, subscription_id);
CREATE INDEX subscription_to_agents ON subscription (concerns_agents) WHERE concerns_agents = 1;

-- How far changes have become wakes. `version` counts changes of the subscriptions, so that a stale index is noticed;
-- `journal_seq` is the newest change that was seen to, whole where `journal_done` is null, else up to that candidate.
-- One row.
CREATE TABLE alert (
    row_id        INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    version       INTEGER NOT NULL,
    subscriptions INTEGER NOT NULL CHECK (subscriptions >= 0),
    journal_seq   INTEGER NOT NULL,
    journal_done  TEXT
) STRICT;
INSERT INTO alert (row_id, version, subscriptions, journal_seq, journal_done) VALUES (1, 0, 0, 0, NULL);

-- What agents' own doings say to other agents, until it was seen to: named by the event that tells of it. Written only
-- where somebody subscribes to such.
CREATE TABLE telling (
    agent_id TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    done     TEXT,
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;
