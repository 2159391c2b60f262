-- Schedules: whom they wake, when, and with what words. Their intent is kept; what comes next is worked out from it.
CREATE TABLE schedule (
    schedule_id                TEXT    NOT NULL PRIMARY KEY,
    agent_id                   TEXT    NOT NULL,
    revision                   INTEGER NOT NULL CHECK (revision > 0),
    label                      TEXT    NOT NULL,
    intent                     TEXT    NOT NULL,
    say                        TEXT    NOT NULL,
    status                     TEXT    NOT NULL CHECK (status IN ('active', 'paused', 'disabled', 'expired')),
    concurrency                TEXT    NOT NULL CHECK (concurrency IN ('allow', 'forbid', 'replace')),
    allows_catch_up            INTEGER NOT NULL DEFAULT 0,
    auto_disable_after_run     INTEGER NOT NULL DEFAULT 0,
    catch_up_window_seconds    INTEGER NOT NULL DEFAULT 86400 CHECK (catch_up_window_seconds > 0),
    max_catch_up_runs_per_tick INTEGER NOT NULL DEFAULT 1 CHECK (max_catch_up_runs_per_tick > 0),
    wakes_always               INTEGER NOT NULL DEFAULT 0,
    last_execution_at_ms       INTEGER,
    next_execution_at_ms       INTEGER,
    seen_until_ms              INTEGER NOT NULL,
    last_run                   BLOB CHECK (length(last_run) = 32),
    executions                 INTEGER NOT NULL DEFAULT 0,
    version                    INTEGER NOT NULL,
    created_at_ms              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (next_execution_at_ms) WHERE status = 'active';
CREATE INDEX schedule_seen ON schedule (seen_until_ms) WHERE status = 'active';
CREATE INDEX schedule_of_agent ON schedule (agent_id, schedule_id);

-- What was decided about each firing. Of each schedule the newest are kept; its row counts all of them.
CREATE TABLE scheduled_execution (
    schedule_id TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    due_at_ms   INTEGER NOT NULL,
    count       INTEGER NOT NULL CHECK (count > 0),
    is_capped   INTEGER NOT NULL,
    source      TEXT    NOT NULL CHECK (source IN ('tick', 'trigger_now', 'event')),
    outcome     TEXT    NOT NULL,
    reason      TEXT,
    run_key     BLOB CHECK (length(run_key) = 32),
    is_catch_up INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, seq)
) STRICT, WITHOUT ROWID;
