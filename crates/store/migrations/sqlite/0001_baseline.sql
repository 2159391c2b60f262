-- What agents are, what they did and what they are about to do. What people wrote is in the other database.
--
-- A table is WITHOUT ROWID only where its rows stay small: larger rows leave their page at about 1 kB, and each takes
-- a whole page. No foreign keys: parent and child are written by one verb in one transaction, and a lookup per row
-- would be paid on every step. Times are milliseconds since 1970, hashes are their 32 bytes.

-- Whose database this is: events name the host and its incarnation. One row.
CREATE TABLE host (
    row_id      INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT    NOT NULL,
    incarnation INTEGER NOT NULL
) STRICT;

-- Which journal sagas write to, so that a missing or a different one is noticed. One row.
CREATE TABLE journal_host (
    row_id  INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id TEXT    NOT NULL
) STRICT;

-- Processes that may hold agents. `heartbeat_at_ms` stays 0 here: the lock of the home is the lease.
CREATE TABLE runner (
    runner_id       TEXT    NOT NULL PRIMARY KEY,
    machine         TEXT    NOT NULL,
    pid             INTEGER NOT NULL,
    pid_start_time  INTEGER NOT NULL,
    heartbeat_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Agents and their settings. `model_ref` is null for the default model.
CREATE TABLE agent (
    agent_id       TEXT    NOT NULL PRIMARY KEY,
    visibility     TEXT    NOT NULL CHECK (visibility IN ('public', 'private')),
    lifecycle      TEXT    NOT NULL CHECK (lifecycle IN ('created', 'active', 'dormant', 'destroyed')),
    control        TEXT    NOT NULL CHECK (control IN ('running', 'paused', 'stopped')),
    mode           TEXT    NOT NULL CHECK (mode IN ('autonomous', 'interactive', 'hybrid')),
    sleep_until_ms INTEGER,
    workspace      TEXT    NOT NULL,
    model_ref      TEXT,
    settings       TEXT    NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    model_rounds   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Fence, sequence and hash chain of an agent's log in one row, because every transition checks and moves all three.
-- The row `~home` is that of the home's own log. `queued_count` moves with the queue, because counting rows takes
-- longer the longer the queue is. `last_run_started_at_ms` is that of the newest run: after the clock is set back it
-- is not the latest time. `policy_files` is the version of the policy files at the newest recorded decision; empty
-- without files.
CREATE TABLE agent_head (
    agent_id               TEXT    NOT NULL PRIMARY KEY,
    incarnation            TEXT    NOT NULL,
    runner_id              TEXT,
    fence                  INTEGER NOT NULL,
    next_seq               INTEGER NOT NULL CHECK (next_seq > 0),
    chain_hash             BLOB    NOT NULL CHECK (length(chain_hash) = 32),
    queued_count           INTEGER NOT NULL DEFAULT 0 CHECK (queued_count >= 0),
    last_run_started_at_ms INTEGER,
    policy_files           TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
-- The dispatcher asks after every run who has work.
CREATE INDEX agent_head_queued ON agent_head (agent_id) WHERE queued_count > 0;

-- Why a run was asked for, by whom and with which options. The key is that of the run; a second message with this key
-- is the same message. The parent columns name the run and the action that started a sub-run; `retry_of` is the ended run
-- that a person runs again.
CREATE TABLE message (
    run_key          BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    agent_id         TEXT    NOT NULL,
    thread_id        TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    authority        TEXT    NOT NULL,
    surface          TEXT    NOT NULL,
    context          TEXT    NOT NULL,
    body_hash        BLOB    NOT NULL CHECK (length(body_hash) = 32),
    admitted_at_ms   INTEGER NOT NULL,
    options          TEXT    NOT NULL,
    cause            TEXT    NOT NULL,
    parent_run       BLOB    CHECK (length(parent_run) = 32),
    parent_agent     TEXT,
    parent_operation BLOB    CHECK (length(parent_operation) = 32),
    sub_run_depth    INTEGER NOT NULL CHECK (sub_run_depth >= 0),
    retry_of         BLOB    CHECK (length(retry_of) = 32)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_of_retry ON message (retry_of, run_key) WHERE retry_of IS NOT NULL;
CREATE INDEX message_of_parent ON message (parent_run, run_key) WHERE parent_run IS NOT NULL;

-- Messages that wait until their agent is free, in the order of `rank`, not before `due_at_ms`. A row is deleted when
-- its run starts.
CREATE TABLE queue (
    agent_id       TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    run_key        BLOB    NOT NULL UNIQUE CHECK (length(run_key) = 32),
    rank           INTEGER NOT NULL,
    due_at_ms      INTEGER,
    admitted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_rank ON queue (agent_id, rank);
CREATE INDEX queue_due ON queue (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX queue_due_of_agent ON queue (agent_id, due_at_ms);
-- Finds the messages that were delayed by a clock which was set back since.
CREATE INDEX queue_admitted ON queue (admitted_at_ms) WHERE due_at_ms IS NOT NULL;

-- Why a message became a run, why it did not, or which run took it up.
CREATE TABLE wake (
    run_key     BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    agent_id    TEXT    NOT NULL,
    verdict     TEXT    NOT NULL,
    gates       TEXT    NOT NULL,
    at_ms       INTEGER NOT NULL,
    source      TEXT    NOT NULL,
    cause       TEXT    NOT NULL,
    absorbed_by BLOB    CHECK (length(absorbed_by) = 32)
) STRICT, WITHOUT ROWID;
CREATE INDEX wake_of_agent ON wake (agent_id, at_ms);
CREATE INDEX wake_absorbed ON wake (absorbed_by) WHERE absorbed_by IS NOT NULL;

-- Refused causes, counted per day. The first of a day are in `wake` as well.
CREATE TABLE wake_refusal (
    agent_id    TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    day         INTEGER NOT NULL,
    count       INTEGER NOT NULL CHECK (count > 0),
    first_at_ms INTEGER NOT NULL,
    last_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (agent_id, source, code, day)
) STRICT, WITHOUT ROWID;

-- The newest state of each run. `wait_kind` is what it waits for, null where it may continue; `wait_until_ms` is when that
-- ends by itself; `wait_amount` is what the next step of a run may use that waits for the budget, and
-- `wait_limit_id` the limit, null for a daily cap on money; a `suspended_at_ms`
-- in the future shows that the clock was set back. `claim_count` counts how often the run was claimed since it last made
-- progress. `prune_level` is what retention removed: 0 nothing, 1 the trace, 2 the contents as well. `needs_attention` is
-- 1 from a failure or an unknown outcome until a person dismisses it or runs it again.
CREATE TABLE run (
    run_key         BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    agent_id        TEXT    NOT NULL,
    thread_id       TEXT    NOT NULL,
    machine         TEXT    NOT NULL,
    machine_version INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    started_at_ms   INTEGER NOT NULL,
    ended_at_ms     INTEGER,
    wait_kind       TEXT    CHECK (wait_kind IN ('due', 'decision', 'children', 'budget', 'turn', 'rate')),
    wait_until_ms   INTEGER,
    wait_amount     INTEGER CHECK (wait_amount > 0),
    wait_limit_id   BLOB    CHECK (length(wait_limit_id) = 32),
    suspended_at_ms INTEGER,
    claim_count     INTEGER NOT NULL DEFAULT 0,
    fault           TEXT,
    prune_level     INTEGER NOT NULL DEFAULT 0 CHECK (prune_level BETWEEN 0 AND 2),
    needs_attention INTEGER NOT NULL DEFAULT 0 CHECK (needs_attention IN (0, 1)),
    CHECK ((status = 'open') = (ended_at_ms IS NULL)),
    CHECK ((wait_kind IS NULL) = (suspended_at_ms IS NULL)),
    CHECK (wait_kind IS NULL OR status = 'open'),
    CHECK (wait_until_ms IS NOT NULL OR wait_limit_id IS NOT NULL OR wait_kind IS NULL OR wait_kind NOT IN ('due', 'budget', 'rate')),
    CHECK (wait_limit_id IS NULL OR (wait_kind IS NOT NULL AND wait_kind = 'budget')),
    CHECK (wait_until_ms IS NULL OR wait_kind IN ('due', 'decision', 'budget', 'rate')),
    CHECK ((wait_amount IS NOT NULL) = (wait_kind IS NOT NULL AND wait_kind = 'budget'))
) STRICT;
-- The status, which never varies here, makes the planner prefer it to `run_of_agent`.
CREATE INDEX run_open ON run (agent_id, status, wait_kind, run_key) WHERE status = 'open';
-- The dispatcher searches by what runs wait for, and by the times at which waits end or began, so that runs which wait
-- cost it nothing.
CREATE INDEX run_wait ON run (wait_kind, agent_id, run_key, wait_amount, wait_limit_id) WHERE status = 'open';
CREATE INDEX run_due ON run (wait_until_ms) WHERE status = 'open' AND wait_until_ms IS NOT NULL;
CREATE INDEX run_suspended ON run (suspended_at_ms) WHERE status = 'open' AND wait_until_ms IS NOT NULL;
CREATE INDEX run_started ON run (started_at_ms);
CREATE INDEX run_of_agent ON run (agent_id, started_at_ms);
CREATE INDEX run_of_thread ON run (thread_id);
-- Ends other than success are rare, so searching for them must not read the others.
CREATE INDEX run_unsuccessful ON run (started_at_ms) WHERE status IN ('failed', 'out_of_rounds', 'cancelled', 'abandoned');
CREATE INDEX run_attention ON run (started_at_ms) WHERE needs_attention = 1;
CREATE INDEX run_quarantined ON run (started_at_ms) WHERE status = 'quarantined';
CREATE INDEX run_quarantined_of_agent ON run (agent_id, status) WHERE status = 'quarantined';
-- Retention asks for the oldest runs of which something is left.
CREATE INDEX run_ended ON run (ended_at_ms, agent_id, run_key) WHERE ended_at_ms IS NOT NULL AND prune_level < 2;

-- Requests to cancel a run, from processes that may not write the run itself.
CREATE TABLE run_cancel (
    run_key BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The inputs of a run in order, with the hashes of what they led to: enough to replay the run and compare.
CREATE TABLE run_log (
    run_key      BLOB    NOT NULL CHECK (length(run_key) = 32),
    ordinal      INTEGER NOT NULL,
    input        BLOB    NOT NULL,
    reads_hash   BLOB    NOT NULL CHECK (length(reads_hash) = 32),
    state_hash   BLOB    NOT NULL CHECK (length(state_hash) = 32),
    effects_hash BLOB    NOT NULL CHECK (length(effects_hash) = 32),
    at_ms        INTEGER NOT NULL,
    PRIMARY KEY (run_key, ordinal)
) STRICT;

-- One row per effect of a run: a model round or a tool call. Recovery looks for intents without an end. `attempt` is
-- what was learned from a model round, as JSON.
CREATE TABLE step (
    operation_id  BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    run_key       BLOB    NOT NULL CHECK (length(run_key) = 32),
    ordinal       INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    class         TEXT,
    action_base   BLOB    CHECK (length(action_base) = 32),
    status        TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    duration_ms   INTEGER,
    sandbox       TEXT,
    exit_status   INTEGER,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    attempt       TEXT,
    -- The audit record of a tool call. A call has every link, whether it was performed or denied: the arguments and
    -- the policy from the plan on, the result and the last stage from its end on. Only a call whose run was abandoned
    -- while it was performed has no result.
    call_id         TEXT,
    input_hash      BLOB CHECK (length(input_hash) = 32),
    policy_version  TEXT,
    stage           TEXT,
    denial_category TEXT,
    output_hash     BLOB CHECK (length(output_hash) = 32),
    CHECK ((class IS NULL) = (call_id IS NULL)),
    CHECK ((class IS NULL) = (input_hash IS NULL)),
    CHECK ((class IS NULL) = (policy_version IS NULL)),
    CHECK (class IS NULL OR status NOT IN ('ok', 'partial', 'failed', 'denied')
        OR (stage IS NOT NULL AND output_hash IS NOT NULL)),
    CHECK (class IS NULL OR (status = 'denied') = (denial_category IS NOT NULL)),
    UNIQUE (run_key, ordinal)
) STRICT;
-- Equal actions of a run are counted before each plan.
CREATE INDEX step_action_base ON step (run_key, action_base) WHERE action_base IS NOT NULL;
-- The uses of a tool are counted if it has a quota.
CREATE INDEX step_tool ON step (run_key, name) WHERE class IS NOT NULL;

-- The transcript of each thread: who spoke, the hash of what was said, and the untrusted sources of it (empty for
-- trusted text).
CREATE TABLE transcript_entry (
    thread_id    TEXT    NOT NULL,
    position     INTEGER NOT NULL,
    run_key      BLOB    NOT NULL CHECK (length(run_key) = 32),
    role         TEXT    NOT NULL,
    content_hash BLOB    NOT NULL CHECK (length(content_hash) = 32),
    at_ms        INTEGER NOT NULL,
    sources      TEXT    NOT NULL,
    PRIMARY KEY (thread_id, position)
) STRICT, WITHOUT ROWID;

-- Contents by hash. Large ones are files, and their row has no bytes. A blob that is put again while nothing refers
-- to it must survive until its new owner commits, so garbage collection only looks at blobs whose `generation`, that
-- of the last put, is long past.
CREATE TABLE blob (
    hash       BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    size       INTEGER NOT NULL CHECK (size >= 0),
    encoding   TEXT    NOT NULL CHECK (encoding IN ('raw', 'lz4', 'file')),
    bytes      BLOB,
    generation INTEGER NOT NULL,
    CHECK ((encoding = 'file') = (bytes IS NULL))
) STRICT;

-- The tamper-evident log, hash-chained per agent. Erasure removes payload and salt and leaves the rest.
CREATE TABLE event (
    agent_id       TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    run_key        BLOB    CHECK (length(run_key) = 32),
    kind           TEXT    NOT NULL,
    at_ms          INTEGER NOT NULL,
    hash           BLOB    NOT NULL CHECK (length(hash) = 32),
    payload_hash   BLOB    NOT NULL CHECK (length(payload_hash) = 32),
    policy_version TEXT    NOT NULL,
    payload        BLOB,
    salt           BLOB    CHECK (length(salt) = 32),
    PRIMARY KEY (agent_id, seq),
    CHECK ((payload IS NULL) = (salt IS NULL))
) STRICT;

-- What was decided about each call of a tool and each request to a model, written with the event that it is derived
-- from and under its number. Retention does not apply to it. The triggers refuse to change a row, and to delete one
-- except by an erasure with consent; `verify` checks that they are as written here.
CREATE TABLE audit_entry (
    agent_id       TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    run_key        BLOB    CHECK (length(run_key) = 32),
    operation_id   BLOB    CHECK (length(operation_id) = 32),
    tool           TEXT    NOT NULL,
    decision       TEXT    NOT NULL CHECK (decision IN ('permit', 'ask', 'deny')),
    stage          TEXT    NOT NULL,
    rule           TEXT    NOT NULL,
    reason         TEXT    NOT NULL,
    category       TEXT,
    policy_version TEXT    NOT NULL,
    at_ms          INTEGER NOT NULL,
    CHECK (category IS NULL OR decision = 'deny'),
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_entry_time ON audit_entry (at_ms, agent_id, seq);

-- A person's consent to an erasure: of one run, or of a range of events. It is spent once, by setting `used_seq` to the
-- number of the event that records the erasure. While the log has not reached that event, so only in the transaction of
-- the erasure, audit entries of its target may be deleted.
CREATE TABLE consent (
    consent_id BLOB    NOT NULL PRIMARY KEY CHECK (length(consent_id) = 32),
    agent_id   TEXT    NOT NULL,
    purpose    TEXT    NOT NULL CHECK (purpose <> ''),
    run_key    BLOB    CHECK (length(run_key) = 32),
    first_seq  INTEGER,
    last_seq   INTEGER,
    channel    TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    used_seq   INTEGER,
    CHECK ((run_key IS NULL) = (first_seq IS NOT NULL)),
    CHECK ((first_seq IS NULL) = (last_seq IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX consent_of_agent ON consent (agent_id, used_seq);

-- `INSERT OR REPLACE` deletes rows without the triggers for deleted rows.
CREATE TRIGGER audit_entry_insert BEFORE INSERT ON audit_entry
WHEN EXISTS (SELECT 1 FROM audit_entry WHERE agent_id = NEW.agent_id AND seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'an audit entry is never replaced');
END;
CREATE TRIGGER audit_entry_update BEFORE UPDATE ON audit_entry
BEGIN
    SELECT RAISE(ABORT, 'an audit entry is never changed');
END;
CREATE TRIGGER audit_entry_delete BEFORE DELETE ON audit_entry
WHEN NOT EXISTS (SELECT 1 FROM consent JOIN agent_head ON agent_head.agent_id = consent.agent_id
    WHERE consent.agent_id = OLD.agent_id AND consent.used_seq = agent_head.next_seq
        AND (consent.run_key = OLD.run_key OR OLD.seq BETWEEN consent.first_seq AND consent.last_seq))
BEGIN
    SELECT RAISE(ABORT, 'an audit entry is removed only by an erasure with consent');
END;
CREATE TRIGGER consent_insert BEFORE INSERT ON consent
WHEN NEW.used_seq IS NOT NULL OR EXISTS (SELECT 1 FROM consent WHERE consent_id = NEW.consent_id)
BEGIN
    SELECT RAISE(ABORT, 'a consent begins unused, and is never replaced');
END;
CREATE TRIGGER consent_update BEFORE UPDATE ON consent
WHEN OLD.used_seq IS NOT NULL
    OR NEW.used_seq IS NOT (SELECT next_seq FROM agent_head WHERE agent_id = OLD.agent_id)
    OR (NEW.consent_id, NEW.agent_id, NEW.purpose, NEW.channel, NEW.at_ms)
        <> (OLD.consent_id, OLD.agent_id, OLD.purpose, OLD.channel, OLD.at_ms)
    OR NEW.run_key IS NOT OLD.run_key OR NEW.first_seq IS NOT OLD.first_seq OR NEW.last_seq IS NOT OLD.last_seq
BEGIN
    SELECT RAISE(ABORT, 'a consent is used once, for the erasure that it was given for');
END;
CREATE TRIGGER consent_delete BEFORE DELETE ON consent
BEGIN
    SELECT RAISE(ABORT, 'a consent is never removed');
END;

-- From which event on which incarnation of the host wrote a log. The hash of an event covers it, and a column of
-- every event would repeat the same value.
CREATE TABLE event_incarnation (
    agent_id    TEXT    NOT NULL,
    first_seq   INTEGER NOT NULL CHECK (first_seq > 0),
    incarnation TEXT    NOT NULL,
    PRIMARY KEY (agent_id, first_seq)
) STRICT, WITHOUT ROWID;

-- Signed heads of the logs. The chain proves that nothing inside a log was changed; a head that a device signed
-- proves that nothing before it was cut off or rewritten. Rows are never changed and never removed.
CREATE TABLE signed_head (
    agent_id     TEXT    NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq > 0),
    public_key   BLOB    NOT NULL CHECK (length(public_key) = 32),
    chain_hash   BLOB    NOT NULL CHECK (length(chain_hash) = 32),
    signed_at_ms INTEGER NOT NULL,
    signature    BLOB    NOT NULL CHECK (length(signature) = 64),
    PRIMARY KEY (agent_id, seq, public_key)
) STRICT, WITHOUT ROWID;

-- What people are asked, with the answer once there is one. `body` is the whole record as JSON, the other columns are
-- what it is looked up by. `is_applied` says that the run has received the answer.
CREATE TABLE decision (
    decision_id BLOB    NOT NULL PRIMARY KEY CHECK (length(decision_id) = 32),
    agent_id    TEXT    NOT NULL,
    run_key     BLOB    NOT NULL CHECK (length(run_key) = 32),
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'answered', 'cancelled', 'withdrawn')),
    version     INTEGER NOT NULL CHECK (version > 0),
    asked_at_ms INTEGER NOT NULL,
    is_applied  INTEGER NOT NULL CHECK (is_applied IN (0, 1)),
    body        TEXT    NOT NULL
) STRICT;
CREATE INDEX decision_pending ON decision (asked_at_ms) WHERE status = 'pending';
CREATE INDEX decision_pending_of_agent ON decision (agent_id) WHERE status = 'pending';
CREATE INDEX decision_asked ON decision (asked_at_ms);
CREATE INDEX decision_of_run ON decision (run_key);

-- Which notifications of a decision were delivered, per severity and target (desktop, webhook or command).
CREATE TABLE decision_notification (
    decision_id  BLOB    NOT NULL CHECK (length(decision_id) = 32),
    severity     TEXT    NOT NULL,
    target       TEXT    NOT NULL,
    attempts     INTEGER NOT NULL,
    is_delivered INTEGER NOT NULL CHECK (is_delivered IN (0, 1)),
    error        TEXT,
    at_ms        INTEGER NOT NULL,
    PRIMARY KEY (decision_id, severity, target)
) STRICT, WITHOUT ROWID;

-- Brakes that are on. The agent is empty for the brake of all agents.
CREATE TABLE brake (
    agent_id TEXT    NOT NULL PRIMARY KEY,
    reason   TEXT    NOT NULL,
    channel  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a day may cost, in millionths of a dollar. The agent is empty for the cap of all agents.
CREATE TABLE cap (
    agent_id       TEXT    NOT NULL PRIMARY KEY,
    daily_microusd INTEGER NOT NULL CHECK (daily_microusd >= 0),
    set_at_ms      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a model request may cost at most until it is settled, and what it did cost, with the rule that let it pass.
-- Written before the request is sent.
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
CREATE INDEX spend_of_run ON spend (run_key);

-- The sums of each agent and day, updated with `spend`: adding up rows before every request takes longer the longer
-- the day is. The agent is empty for the sum of all agents.
CREATE TABLE spend_day (
    agent_id          TEXT    NOT NULL,
    day               INTEGER NOT NULL,
    reserved_microusd INTEGER NOT NULL CHECK (reserved_microusd >= 0),
    settled_microusd  INTEGER NOT NULL CHECK (settled_microusd >= 0),
    requests          INTEGER NOT NULL,
    PRIMARY KEY (agent_id, day)
) STRICT, WITHOUT ROWID;

-- Limits that people set on what agents use, each with its use so far. `settled` counts in the period with the number
-- `period_index`; a later period starts at zero, and an earlier one is never counted again. `reserved` is the sum of
-- the holds on the limit. The subject is empty for all agents together. A daily cap on money is in `cap`.
CREATE TABLE budget_limit (
    limit_id      BLOB    NOT NULL PRIMARY KEY CHECK (length(limit_id) = 32),
    scope         TEXT    NOT NULL CHECK (scope IN ('all', 'tree', 'agent', 'session', 'run')),
    subject       TEXT    NOT NULL,
    resource      TEXT    NOT NULL CHECK (resource IN ('money', 'tokens', 'run_time', 'tool_calls', 'written_bytes')),
    period        TEXT    NOT NULL CHECK (period IN ('daily', 'monthly', 'yearly', 'lifetime')),
    max           INTEGER NOT NULL CHECK (max >= 0),
    period_index  INTEGER NOT NULL,
    reserved      INTEGER NOT NULL CHECK (reserved >= 0),
    settled       INTEGER NOT NULL CHECK (settled >= 0),
    counted_at_ms INTEGER NOT NULL,
    set_at_ms     INTEGER NOT NULL,
    UNIQUE (scope, subject, resource, period),
    CHECK ((scope = 'all') = (subject = '')),
    CHECK (period = 'lifetime' OR scope IN ('all', 'agent'))
) STRICT, WITHOUT ROWID;

-- What an effect has reserved under a limit. Deleted when the effect ends, is withdrawn, or its run ends.
CREATE TABLE budget_hold (
    operation_id BLOB    NOT NULL CHECK (length(operation_id) = 32),
    limit_id     BLOB    NOT NULL CHECK (length(limit_id) = 32),
    run_key      BLOB    NOT NULL CHECK (length(run_key) = 32),
    amount       INTEGER NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (operation_id, limit_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_hold_of_run ON budget_hold (run_key);
CREATE INDEX budget_hold_of_limit ON budget_hold (limit_id);

-- That a person confirmed, under this version of the rules, that a provider may receive agents' work.
CREATE TABLE privacy_receipt (
    provider       TEXT    NOT NULL,
    policy_version TEXT    NOT NULL,
    channel        TEXT    NOT NULL,
    at_ms          INTEGER NOT NULL,
    PRIMARY KEY (provider, policy_version)
) STRICT, WITHOUT ROWID;

-- Writes that touch both databases. A row is written with the intent of its action and ends with the result; what a
-- crash left in between is finished or compensated, and what can be neither waits here for a person.
CREATE TABLE saga (
    operation_id  BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    run_key       BLOB    NOT NULL CHECK (length(run_key) = 32),
    phase         TEXT    NOT NULL CHECK (phase IN ('intent', 'agent', 'compensation')),
    status        TEXT    NOT NULL CHECK (status IN ('open', 'completed', 'compensated', 'stuck')),
    last_error    TEXT,
    updated_at_ms INTEGER NOT NULL,
    CHECK ((phase = 'intent' AND status = 'open') OR (phase = 'agent' AND status = 'completed') OR phase = 'compensation')
) STRICT, WITHOUT ROWID;
CREATE INDEX saga_unfinished ON saga (updated_at_ms, operation_id) WHERE status IN ('open', 'stuck');

-- What agents want to be woken for. `spec` is JSON. A subscription sees changes of the journal after
-- `after_journal_seq`, and notices of agents that were written when the subscriptions had `after_version` or a later
-- version. `last_due_at_ms` is when its newest message may start.
CREATE TABLE subscription (
    subscription_id       TEXT    NOT NULL PRIMARY KEY,
    agent_id              TEXT    NOT NULL,
    spec                  TEXT    NOT NULL,
    matches_agent_notices INTEGER NOT NULL CHECK (matches_agent_notices IN (0, 1)),
    after_journal_seq     INTEGER NOT NULL,
    after_version         INTEGER NOT NULL,
    last_due_at_ms        INTEGER,
    is_active             INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    created_at_ms         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_of_agent ON subscription (agent_id, subscription_id);
CREATE INDEX subscription_matching_agent_notices ON subscription (matches_agent_notices) WHERE matches_agent_notices = 1;

-- How far the journal's outbox was dispatched: `journal_seq` is the newest change, complete if
-- `journal_dispatched_to` is null, otherwise up to that subscription. `subscription_version` counts changes of the
-- subscriptions, so that a stale index is noticed. One row.
CREATE TABLE outbox_cursor (
    row_id                INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    subscription_version  INTEGER NOT NULL,
    subscription_count    INTEGER NOT NULL CHECK (subscription_count >= 0),
    journal_seq           INTEGER NOT NULL,
    journal_dispatched_to TEXT
) STRICT;
INSERT INTO outbox_cursor (row_id, subscription_version, subscription_count, journal_seq, journal_dispatched_to)
VALUES (1, 0, 0, 0, NULL);

-- Notices of agents' own events until they are dispatched, keyed by the event. Written only while a subscription
-- matches such notices.
CREATE TABLE agent_outbox (
    agent_id             TEXT    NOT NULL,
    seq                  INTEGER NOT NULL,
    body                 TEXT    NOT NULL,
    dispatched_to        TEXT,
    at_ms                INTEGER NOT NULL,
    subscription_version INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;

-- Schedules: which agent to wake, when, and with which message. The pattern is stored as it was given; the next
-- firing is computed from it. `guard` is a condition as JSON, `event_name` an event that fires the schedule beside
-- its times.
CREATE TABLE schedule (
    schedule_id                TEXT    NOT NULL PRIMARY KEY,
    agent_id                   TEXT    NOT NULL,
    revision                   INTEGER NOT NULL CHECK (revision > 0),
    label                      TEXT    NOT NULL,
    pattern                    TEXT    NOT NULL,
    message                    TEXT    NOT NULL,
    status                     TEXT    NOT NULL CHECK (status IN ('active', 'paused', 'disabled', 'expired')),
    concurrency                TEXT    NOT NULL CHECK (concurrency IN ('allow', 'forbid', 'replace')),
    allows_catch_up            INTEGER NOT NULL DEFAULT 0,
    auto_disable_after_run     INTEGER NOT NULL DEFAULT 0,
    catch_up_window_seconds    INTEGER NOT NULL DEFAULT 86400 CHECK (catch_up_window_seconds > 0),
    max_catch_up_runs_per_tick INTEGER NOT NULL DEFAULT 1 CHECK (max_catch_up_runs_per_tick > 0),
    wakes_always               INTEGER NOT NULL DEFAULT 0,
    last_execution_at_ms       INTEGER,
    next_execution_at_ms       INTEGER,
    evaluated_until_ms         INTEGER NOT NULL,
    last_run_key               BLOB    CHECK (length(last_run_key) = 32),
    execution_count            INTEGER NOT NULL DEFAULT 0,
    version                    INTEGER NOT NULL,
    guard                      TEXT,
    event_name                 TEXT,
    created_at_ms              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (next_execution_at_ms) WHERE status = 'active';
CREATE INDEX schedule_evaluated ON schedule (evaluated_until_ms) WHERE status = 'active';
CREATE INDEX schedule_of_agent ON schedule (agent_id, schedule_id);
CREATE INDEX schedule_of_event ON schedule (event_name) WHERE event_name IS NOT NULL;

-- What became of each firing. The newest of each schedule are kept; the schedule counts all of them.
CREATE TABLE scheduled_execution (
    schedule_id    TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    due_at_ms      INTEGER NOT NULL,
    firing_count   INTEGER NOT NULL CHECK (firing_count > 0),
    is_capped      INTEGER NOT NULL,
    trigger_source TEXT    NOT NULL CHECK (trigger_source IN ('tick', 'trigger_now', 'event')),
    outcome        TEXT    NOT NULL,
    reason         TEXT,
    run_key        BLOB    CHECK (length(run_key) = 32),
    is_catch_up    INTEGER NOT NULL,
    at_ms          INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, seq)
) STRICT, WITHOUT ROWID;

-- The capability by which an external system may wake an agent. Its URL is derived from the secret, the id and the
-- generation, and is not stored.
CREATE TABLE external_trigger (
    external_trigger_id  TEXT    NOT NULL PRIMARY KEY,
    agent_id             TEXT    NOT NULL UNIQUE,
    generation           INTEGER NOT NULL CHECK (generation > 0),
    is_active            INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    trigger_count        INTEGER NOT NULL DEFAULT 0,
    last_triggered_at_ms INTEGER,
    created_at_ms        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Accepted deliveries, for as long as a repeated one must be recognised.
CREATE TABLE external_trigger_delivery (
    external_trigger_id TEXT    NOT NULL,
    delivery_id         TEXT    NOT NULL,
    at_ms               INTEGER NOT NULL,
    PRIMARY KEY (external_trigger_id, delivery_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX external_trigger_delivery_age ON external_trigger_delivery (external_trigger_id, at_ms);

-- The secret that trigger URLs are derived from. At most one row.
CREATE TABLE external_trigger_secret (
    row_id INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    secret BLOB    NOT NULL CHECK (length(secret) = 32)
) STRICT;

-- How far retention and garbage collection are. `unswept_generation` is the generation of the last removal that was
-- not yet collected, or 0; `age_clock_ms` is a clock that never goes back. One row.
CREATE TABLE retention_state (
    row_id             INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    generation         INTEGER NOT NULL,
    generation_at_ms   INTEGER NOT NULL,
    age_clock_ms       INTEGER NOT NULL,
    pruned_at_ms       INTEGER NOT NULL,
    unswept_generation INTEGER NOT NULL
) STRICT;
INSERT INTO retention_state (row_id, generation, generation_at_ms, age_clock_ms, pruned_at_ms, unswept_generation)
VALUES (1, 1, 0, 0, 0, 0);
