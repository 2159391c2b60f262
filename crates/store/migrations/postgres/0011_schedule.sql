-- Schedules: whom they wake, when, and with what words. Their intent is kept; what comes next is worked out from it.
CREATE TABLE schedule (
    schedule_id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id                   TEXT COLLATE "C" NOT NULL,
    revision                   BIGINT NOT NULL CHECK (revision > 0),
    label                      TEXT COLLATE "C" NOT NULL,
    intent                     TEXT COLLATE "C" NOT NULL,
    say                        TEXT COLLATE "C" NOT NULL,
    status                     TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'disabled', 'expired')),
    concurrency                TEXT COLLATE "C" NOT NULL CHECK (concurrency IN ('allow', 'forbid', 'replace')),
    allows_catch_up            BIGINT NOT NULL DEFAULT 0,
    auto_disable_after_run     BIGINT NOT NULL DEFAULT 0,
    catch_up_window_seconds    BIGINT NOT NULL DEFAULT 86400 CHECK (catch_up_window_seconds > 0),
    max_catch_up_runs_per_tick BIGINT NOT NULL DEFAULT 1 CHECK (max_catch_up_runs_per_tick > 0),
    wakes_always               BIGINT NOT NULL DEFAULT 0,
    last_execution_at_ms       BIGINT,
    next_execution_at_ms       BIGINT,
    seen_until_ms              BIGINT NOT NULL,
    last_run                   BYTEA CHECK (length(last_run) = 32),
    executions                 BIGINT NOT NULL DEFAULT 0,
    version                    BIGINT NOT NULL,
    created_at_ms              BIGINT NOT NULL
);
CREATE INDEX schedule_due ON schedule (next_execution_at_ms) WHERE status = 'active';
CREATE INDEX schedule_seen ON schedule (seen_until_ms) WHERE status = 'active';
CREATE INDEX schedule_of_agent ON schedule (agent_id, schedule_id);

-- What was decided about each firing. Of each schedule the newest are kept; its row counts all of them.
CREATE TABLE scheduled_execution (
    schedule_id TEXT COLLATE "C" NOT NULL,
    seq         BIGINT NOT NULL,
    revision    BIGINT NOT NULL,
    due_at_ms   BIGINT NOT NULL,
    count       BIGINT NOT NULL CHECK (count > 0),
    is_capped   BIGINT NOT NULL,
    source      TEXT COLLATE "C" NOT NULL CHECK (source IN ('tick', 'trigger_now', 'event')),
    outcome     TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C",
    run_key     BYTEA CHECK (length(run_key) = 32),
    is_catch_up BIGINT NOT NULL,
    at_ms       BIGINT NOT NULL,
    PRIMARY KEY (schedule_id, seq)
);
