-- What agents are, what they did and what they are about to do. What people wrote is in the other database.
--
-- The same tables as on SQLite. Only BIGINT, TEXT and BYTEA, so that a parameter has one possible type; text is
-- compared by its bytes, so that names sort alike on every server. Rows that change with every step leave room on
-- their page, so that no index has to follow them. No foreign keys: parent and child are written by one verb in one
-- transaction, and a lookup per row would be paid on every step. Times are milliseconds since 1970, hashes are their
-- 32 bytes.

-- Whose database this is: events name the host and its incarnation. One row.
CREATE TABLE host (
    row_id      BIGINT           NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT           NOT NULL
);

-- Which journal sagas write to, so that a missing or a different one is noticed. One row.
CREATE TABLE journal_host (
    row_id  BIGINT           NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id TEXT COLLATE "C" NOT NULL
);

-- Processes that may hold agents. `heartbeat_at_ms` is by the clock of this database, because those of the machines
-- may differ.
CREATE TABLE runner (
    runner_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    machine         TEXT COLLATE "C" NOT NULL,
    pid             BIGINT           NOT NULL,
    pid_start_time  BIGINT           NOT NULL,
    heartbeat_at_ms BIGINT           NOT NULL
);

-- Agents and their settings. `model_ref` is null for the default model.
CREATE TABLE agent (
    agent_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    visibility     TEXT COLLATE "C" NOT NULL CHECK (visibility IN ('public', 'private')),
    lifecycle      TEXT COLLATE "C" NOT NULL CHECK (lifecycle IN ('created', 'active', 'dormant', 'destroyed')),
    control        TEXT COLLATE "C" NOT NULL CHECK (control IN ('running', 'paused', 'stopped')),
    mode           TEXT COLLATE "C" NOT NULL CHECK (mode IN ('autonomous', 'interactive', 'hybrid')),
    sleep_until_ms BIGINT,
    workspace      TEXT COLLATE "C" NOT NULL,
    model_ref      TEXT COLLATE "C",
    settings       TEXT COLLATE "C" NOT NULL,
    created_at_ms  BIGINT           NOT NULL,
    input_tokens   BIGINT           NOT NULL,
    output_tokens  BIGINT           NOT NULL,
    model_rounds   BIGINT           NOT NULL
) WITH (fillfactor = 70);

-- Fence, sequence and hash chain of an agent's log in one row, because every transition checks and moves all three.
-- The row `~home` is that of the home's own log. `queued_count` moves with the queue, because counting rows takes
-- longer the longer the queue is. `last_run_started_at_ms` is that of the newest run: after the clock is set back it
-- is not the latest time. `policy_files` is the version of the policy files at the newest recorded decision; empty
-- without files.
CREATE TABLE agent_head (
    agent_id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation            TEXT COLLATE "C" NOT NULL,
    runner_id              TEXT COLLATE "C",
    fence                  BIGINT           NOT NULL,
    next_seq               BIGINT           NOT NULL CHECK (next_seq > 0),
    chain_hash             BYTEA            NOT NULL CHECK (octet_length(chain_hash) = 32),
    queued_count           BIGINT           NOT NULL DEFAULT 0 CHECK (queued_count >= 0),
    last_run_started_at_ms BIGINT,
    policy_files           TEXT COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
-- The dispatcher asks after every run who has work.
CREATE INDEX agent_head_queued ON agent_head (agent_id) WHERE queued_count > 0;

-- Why a run was asked for, by whom and with which options. The key is that of the run; a second message with this key
-- is the same message. The parent columns name the run and the action that started a sub-run; `retry_of` is the ended run
-- that a person runs again.
CREATE TABLE message (
    run_key          BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id         TEXT COLLATE "C" NOT NULL,
    thread_id        TEXT COLLATE "C" NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    authority        TEXT COLLATE "C" NOT NULL,
    surface          TEXT COLLATE "C" NOT NULL,
    context          TEXT COLLATE "C" NOT NULL,
    body_hash        BYTEA            NOT NULL CHECK (octet_length(body_hash) = 32),
    admitted_at_ms   BIGINT           NOT NULL,
    options          TEXT COLLATE "C" NOT NULL,
    cause            TEXT COLLATE "C" NOT NULL,
    parent_run       BYTEA            CHECK (octet_length(parent_run) = 32),
    parent_agent     TEXT COLLATE "C",
    parent_operation BYTEA            CHECK (octet_length(parent_operation) = 32),
    sub_run_depth    BIGINT           NOT NULL CHECK (sub_run_depth >= 0),
    retry_of         BYTEA            CHECK (octet_length(retry_of) = 32)
);
CREATE INDEX message_of_retry ON message (retry_of, run_key) WHERE retry_of IS NOT NULL;
CREATE INDEX message_of_parent ON message (parent_run, run_key) WHERE parent_run IS NOT NULL;

-- Messages that wait until their agent is free, in the order of `rank`, not before `due_at_ms`. A row is deleted when
-- its run starts.
CREATE TABLE queue (
    agent_id       TEXT COLLATE "C" NOT NULL,
    seq            BIGINT           NOT NULL,
    run_key        BYTEA            NOT NULL UNIQUE CHECK (octet_length(run_key) = 32),
    rank           BIGINT           NOT NULL,
    due_at_ms      BIGINT,
    admitted_at_ms BIGINT           NOT NULL,
    PRIMARY KEY (agent_id, seq)
);
CREATE INDEX queue_rank ON queue (agent_id, rank);
CREATE INDEX queue_due ON queue (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX queue_due_of_agent ON queue (agent_id, due_at_ms);
-- Finds the messages that were delayed by a clock which was set back since.
CREATE INDEX queue_admitted ON queue (admitted_at_ms) WHERE due_at_ms IS NOT NULL;

-- Why a message became a run, why it did not, or which run took it up.
CREATE TABLE wake (
    run_key     BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id    TEXT COLLATE "C" NOT NULL,
    verdict     TEXT COLLATE "C" NOT NULL,
    gates       TEXT COLLATE "C" NOT NULL,
    at_ms       BIGINT           NOT NULL,
    source      TEXT COLLATE "C" NOT NULL,
    cause       TEXT COLLATE "C" NOT NULL,
    absorbed_by BYTEA            CHECK (octet_length(absorbed_by) = 32)
);
CREATE INDEX wake_of_agent ON wake (agent_id, at_ms);
CREATE INDEX wake_absorbed ON wake (absorbed_by) WHERE absorbed_by IS NOT NULL;

-- Refused causes, counted per day. The first of a day are in `wake` as well.
CREATE TABLE wake_refusal (
    agent_id    TEXT COLLATE "C" NOT NULL,
    source      TEXT COLLATE "C" NOT NULL,
    code        TEXT COLLATE "C" NOT NULL,
    day         BIGINT           NOT NULL,
    count       BIGINT           NOT NULL CHECK (count > 0),
    first_at_ms BIGINT           NOT NULL,
    last_at_ms  BIGINT           NOT NULL,
    PRIMARY KEY (agent_id, source, code, day)
);

-- The newest state of each run. `wait_kind` is what it waits for, null where it may continue; `wait_until_ms` is when that
-- ends by itself; `wait_amount` is what the next step of a run may use that waits for the budget, and
-- `wait_limit_id` the limit, null for a daily cap on money; a `suspended_at_ms`
-- in the future shows that the clock was set back. `claim_count` counts how often the run was claimed since it last made
-- progress. `prune_level` is what retention removed: 0 nothing, 1 the trace, 2 the contents as well. `needs_attention` is
-- 1 from a failure or an unknown outcome until a person dismisses it or runs it again.
CREATE TABLE run (
    run_key         BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id        TEXT COLLATE "C" NOT NULL,
    thread_id       TEXT COLLATE "C" NOT NULL,
    machine         TEXT COLLATE "C" NOT NULL,
    machine_version BIGINT           NOT NULL,
    version         BIGINT           NOT NULL,
    state           TEXT COLLATE "C" NOT NULL,
    status          TEXT COLLATE "C" NOT NULL,
    started_at_ms   BIGINT           NOT NULL,
    ended_at_ms     BIGINT,
    wait_kind       TEXT COLLATE "C" CHECK (wait_kind IN ('due', 'decision', 'children', 'budget', 'turn', 'rate')),
    wait_until_ms   BIGINT,
    wait_amount     BIGINT CHECK (wait_amount > 0),
    wait_limit_id   BYTEA CHECK (length(wait_limit_id) = 32),
    suspended_at_ms BIGINT,
    claim_count     BIGINT           NOT NULL DEFAULT 0,
    fault           TEXT COLLATE "C",
    prune_level     BIGINT           NOT NULL DEFAULT 0 CHECK (prune_level BETWEEN 0 AND 2),
    needs_attention BIGINT           NOT NULL DEFAULT 0 CHECK (needs_attention IN (0, 1)),
    CHECK ((status = 'open') = (ended_at_ms IS NULL)),
    CHECK ((wait_kind IS NULL) = (suspended_at_ms IS NULL)),
    CHECK (wait_kind IS NULL OR status = 'open'),
    CHECK (wait_until_ms IS NOT NULL OR wait_limit_id IS NOT NULL OR wait_kind IS NULL OR wait_kind NOT IN ('due', 'budget', 'rate')),
    CHECK (wait_limit_id IS NULL OR (wait_kind IS NOT NULL AND wait_kind = 'budget')),
    CHECK (wait_until_ms IS NULL OR wait_kind IN ('due', 'decision', 'budget', 'rate')),
    CHECK ((wait_amount IS NOT NULL) = (wait_kind IS NOT NULL AND wait_kind = 'budget'))
) WITH (fillfactor = 70);
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
    run_key BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    at_ms   BIGINT NOT NULL
);

-- The inputs of a run in order, with the hashes of what they led to: enough to replay the run and compare.
CREATE TABLE run_log (
    run_key      BYTEA  NOT NULL CHECK (octet_length(run_key) = 32),
    ordinal      BIGINT NOT NULL,
    input        BYTEA  NOT NULL,
    reads_hash   BYTEA  NOT NULL CHECK (octet_length(reads_hash) = 32),
    state_hash   BYTEA  NOT NULL CHECK (octet_length(state_hash) = 32),
    effects_hash BYTEA  NOT NULL CHECK (octet_length(effects_hash) = 32),
    at_ms        BIGINT NOT NULL,
    PRIMARY KEY (run_key, ordinal)
);

-- One row per effect of a run: a model round or a tool call. Recovery looks for intents without an end. `attempt` is
-- what was learned from a model round, as JSON.
CREATE TABLE step (
    operation_id  BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    run_key       BYTEA            NOT NULL CHECK (octet_length(run_key) = 32),
    ordinal       BIGINT           NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    class         TEXT COLLATE "C",
    action_base   BYTEA            CHECK (octet_length(action_base) = 32),
    status        TEXT COLLATE "C" NOT NULL,
    reason        TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    duration_ms   BIGINT,
    sandbox       TEXT COLLATE "C",
    exit_status   BIGINT,
    input_tokens  BIGINT           NOT NULL,
    output_tokens BIGINT           NOT NULL,
    attempt       TEXT COLLATE "C",
    -- The audit record of a tool call. A call has every link, whether it was performed or denied: the arguments and
    -- the policy from the plan on, the result and the last stage from its end on. Only a call whose run was abandoned
    -- while it was performed has no result.
    call_id         TEXT COLLATE "C",
    input_hash      BYTEA CHECK (octet_length(input_hash) = 32),
    policy_version  TEXT COLLATE "C",
    stage           TEXT COLLATE "C",
    denial_category TEXT COLLATE "C",
    output_hash     BYTEA CHECK (octet_length(output_hash) = 32),
    CHECK ((class IS NULL) = (call_id IS NULL)),
    CHECK ((class IS NULL) = (input_hash IS NULL)),
    CHECK ((class IS NULL) = (policy_version IS NULL)),
    CHECK (class IS NULL OR status NOT IN ('ok', 'partial', 'failed', 'denied')
        OR (stage IS NOT NULL AND output_hash IS NOT NULL)),
    CHECK (class IS NULL OR (status = 'denied') = (denial_category IS NOT NULL)),
    UNIQUE (run_key, ordinal)
);
-- Equal actions of a run are counted before each plan.
CREATE INDEX step_action_base ON step (run_key, action_base) WHERE action_base IS NOT NULL;
-- The uses of a tool are counted if it has a quota.
CREATE INDEX step_tool ON step (run_key, name) WHERE class IS NOT NULL;

-- The transcript of each thread: who spoke, the hash of what was said, and the untrusted sources of it (empty for
-- trusted text).
CREATE TABLE transcript_entry (
    thread_id    TEXT COLLATE "C" NOT NULL,
    position     BIGINT           NOT NULL,
    run_key      BYTEA            NOT NULL CHECK (octet_length(run_key) = 32),
    role         TEXT COLLATE "C" NOT NULL,
    content_hash BYTEA            NOT NULL CHECK (octet_length(content_hash) = 32),
    at_ms        BIGINT           NOT NULL,
    sources      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (thread_id, position)
);

-- Contents by hash, whatever their size: a file would be on one machine only. They are compressed already, so the
-- server does not try again. A blob that is put again while nothing refers to it must survive until its new owner
-- commits, so garbage collection only looks at blobs whose `generation`, that of the last put, is long past.
CREATE TABLE blob (
    hash       BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
    size       BIGINT           NOT NULL CHECK (size >= 0),
    encoding   TEXT COLLATE "C" NOT NULL CHECK (encoding IN ('raw', 'lz4')),
    bytes      BYTEA            NOT NULL,
    generation BIGINT           NOT NULL
);
ALTER TABLE blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The tamper-evident log, hash-chained per agent. Erasure removes payload and salt and leaves the rest.
CREATE TABLE event (
    agent_id       TEXT COLLATE "C" NOT NULL,
    seq            BIGINT           NOT NULL,
    run_key        BYTEA            CHECK (octet_length(run_key) = 32),
    kind           TEXT COLLATE "C" NOT NULL,
    at_ms          BIGINT           NOT NULL,
    hash           BYTEA            NOT NULL CHECK (octet_length(hash) = 32),
    payload_hash   BYTEA            NOT NULL CHECK (octet_length(payload_hash) = 32),
    policy_version TEXT COLLATE "C" NOT NULL,
    payload        BYTEA,
    salt           BYTEA            CHECK (octet_length(salt) = 32),
    PRIMARY KEY (agent_id, seq),
    CHECK ((payload IS NULL) = (salt IS NULL))
);

-- What was decided about each call of a tool and each request to a model, written with the event that it is derived
-- from and under its number. Retention does not apply to it. The triggers refuse to change a row, and to delete one
-- except by an erasure with consent; `verify` checks that they are as written here.
CREATE TABLE audit_entry (
    agent_id       TEXT COLLATE "C" NOT NULL,
    seq            BIGINT           NOT NULL,
    run_key        BYTEA            CHECK (octet_length(run_key) = 32),
    operation_id   BYTEA            CHECK (octet_length(operation_id) = 32),
    tool           TEXT COLLATE "C" NOT NULL,
    decision       TEXT COLLATE "C" NOT NULL CHECK (decision IN ('permit', 'ask', 'deny')),
    stage          TEXT COLLATE "C" NOT NULL,
    rule           TEXT COLLATE "C" NOT NULL,
    reason         TEXT COLLATE "C" NOT NULL,
    category       TEXT COLLATE "C",
    policy_version TEXT COLLATE "C" NOT NULL,
    at_ms          BIGINT           NOT NULL,
    CHECK (category IS NULL OR decision = 'deny'),
    PRIMARY KEY (agent_id, seq)
);
CREATE INDEX audit_entry_time ON audit_entry (at_ms, agent_id, seq);

-- A person's consent to an erasure: of one run, or of a range of events. It is spent once, by setting `used_seq` to the
-- number of the event that records the erasure. While the log has not reached that event, so only in the transaction of
-- the erasure, audit entries of its target may be deleted.
CREATE TABLE consent (
    consent_id BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(consent_id) = 32),
    agent_id   TEXT COLLATE "C" NOT NULL,
    purpose    TEXT COLLATE "C" NOT NULL CHECK (purpose <> ''),
    run_key    BYTEA            CHECK (octet_length(run_key) = 32),
    first_seq  BIGINT,
    last_seq   BIGINT,
    channel    TEXT COLLATE "C" NOT NULL,
    at_ms      BIGINT           NOT NULL,
    used_seq   BIGINT,
    CHECK ((run_key IS NULL) = (first_seq IS NOT NULL)),
    CHECK ((first_seq IS NULL) = (last_seq IS NULL))
);
CREATE INDEX consent_of_agent ON consent (agent_id, used_seq);

CREATE FUNCTION audit_entry_guard() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM consent JOIN agent_head ON agent_head.agent_id = consent.agent_id
            WHERE consent.agent_id = OLD.agent_id AND consent.used_seq = agent_head.next_seq
                AND (consent.run_key = OLD.run_key OR OLD.seq BETWEEN consent.first_seq AND consent.last_seq)) THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'an audit entry is removed only by an erasure with consent';
    END IF;
    RAISE EXCEPTION 'an audit entry is never changed';
END
$guard$;
CREATE FUNCTION consent_guard() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.used_seq IS NULL THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'a consent begins unused';
    ELSIF TG_OP = 'UPDATE' THEN
        IF OLD.used_seq IS NULL
            AND NEW.used_seq = (SELECT next_seq FROM agent_head WHERE agent_id = OLD.agent_id)
            AND (NEW.consent_id, NEW.agent_id, NEW.purpose, NEW.channel, NEW.at_ms)
                = (OLD.consent_id, OLD.agent_id, OLD.purpose, OLD.channel, OLD.at_ms)
            AND NEW.run_key IS NOT DISTINCT FROM OLD.run_key
            AND NEW.first_seq IS NOT DISTINCT FROM OLD.first_seq
            AND NEW.last_seq IS NOT DISTINCT FROM OLD.last_seq THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'a consent is used once, for the erasure that it was given for';
    END IF;
    RAISE EXCEPTION 'a consent is never removed';
END
$guard$;
-- ALWAYS: also in sessions that replicate, which skip ordinary triggers.
CREATE TRIGGER audit_entry_rows BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION audit_entry_guard();
CREATE TRIGGER audit_entry_truncate BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_guard();
CREATE TRIGGER consent_rows BEFORE INSERT OR UPDATE OR DELETE ON consent
    FOR EACH ROW EXECUTE FUNCTION consent_guard();
CREATE TRIGGER consent_truncate BEFORE TRUNCATE ON consent
    FOR EACH STATEMENT EXECUTE FUNCTION consent_guard();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER audit_entry_rows;
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER audit_entry_truncate;
ALTER TABLE consent ENABLE ALWAYS TRIGGER consent_rows;
ALTER TABLE consent ENABLE ALWAYS TRIGGER consent_truncate;

-- From which event on which incarnation of the host wrote a log. The hash of an event covers it, and a column of
-- every event would repeat the same value.
CREATE TABLE event_incarnation (
    agent_id    TEXT COLLATE "C" NOT NULL,
    first_seq   BIGINT           NOT NULL CHECK (first_seq > 0),
    incarnation TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (agent_id, first_seq)
);

-- Signed heads of the logs. The chain proves that nothing inside a log was changed; a head that a device signed
-- proves that nothing before it was cut off or rewritten. Rows are never changed and never removed.
CREATE TABLE signed_head (
    agent_id     TEXT COLLATE "C" NOT NULL,
    seq          BIGINT           NOT NULL CHECK (seq > 0),
    public_key   BYTEA            NOT NULL CHECK (octet_length(public_key) = 32),
    chain_hash   BYTEA            NOT NULL CHECK (octet_length(chain_hash) = 32),
    signed_at_ms BIGINT           NOT NULL,
    signature    BYTEA            NOT NULL CHECK (octet_length(signature) = 64),
    PRIMARY KEY (agent_id, seq, public_key)
);

-- What people are asked, with the answer once there is one. `body` is the whole record as JSON, the other columns are
-- what it is looked up by. `is_applied` says that the run has received the answer.
CREATE TABLE decision (
    decision_id BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(decision_id) = 32),
    agent_id    TEXT COLLATE "C" NOT NULL,
    run_key     BYTEA            NOT NULL CHECK (octet_length(run_key) = 32),
    status      TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'answered', 'cancelled', 'withdrawn')),
    version     BIGINT           NOT NULL CHECK (version > 0),
    asked_at_ms BIGINT           NOT NULL,
    is_applied  BIGINT           NOT NULL CHECK (is_applied IN (0, 1)),
    body        TEXT COLLATE "C" NOT NULL
);
CREATE INDEX decision_pending ON decision (asked_at_ms) WHERE status = 'pending';
CREATE INDEX decision_pending_of_agent ON decision (agent_id) WHERE status = 'pending';
CREATE INDEX decision_asked ON decision (asked_at_ms);
CREATE INDEX decision_of_run ON decision (run_key);

-- Which notifications of a decision were delivered, per severity and target (desktop, webhook or command).
CREATE TABLE decision_notification (
    decision_id  BYTEA            NOT NULL CHECK (octet_length(decision_id) = 32),
    severity     TEXT COLLATE "C" NOT NULL,
    target       TEXT COLLATE "C" NOT NULL,
    attempts     BIGINT           NOT NULL,
    is_delivered BIGINT           NOT NULL CHECK (is_delivered IN (0, 1)),
    error        TEXT COLLATE "C",
    at_ms        BIGINT           NOT NULL,
    PRIMARY KEY (decision_id, severity, target)
);

-- Brakes that are on. The agent is empty for the brake of all agents.
CREATE TABLE brake (
    agent_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    reason   TEXT COLLATE "C" NOT NULL,
    channel  TEXT COLLATE "C" NOT NULL,
    at_ms    BIGINT           NOT NULL
);

-- What a day may cost, in millionths of a dollar. The agent is empty for the cap of all agents.
CREATE TABLE cap (
    agent_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    daily_microusd BIGINT           NOT NULL CHECK (daily_microusd >= 0),
    set_at_ms      BIGINT           NOT NULL
);

-- What a model request may cost at most until it is settled, and what it did cost, with the rule that let it pass.
-- Written before the request is sent.
CREATE TABLE spend (
    operation_id      BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    run_key           BYTEA            NOT NULL CHECK (octet_length(run_key) = 32),
    agent_id          TEXT COLLATE "C" NOT NULL,
    day               BIGINT           NOT NULL,
    model_ref         TEXT COLLATE "C" NOT NULL,
    rule              TEXT COLLATE "C" NOT NULL,
    policy_version    TEXT COLLATE "C" NOT NULL,
    reserved_microusd BIGINT           NOT NULL CHECK (reserved_microusd >= 0),
    settled_microusd  BIGINT           NOT NULL CHECK (settled_microusd >= 0)
);
CREATE INDEX spend_of_run ON spend (run_key);

-- The sums of each agent and day, updated with `spend`: adding up rows before every request takes longer the longer
-- the day is. The agent is empty for the sum of all agents.
CREATE TABLE spend_day (
    agent_id          TEXT COLLATE "C" NOT NULL,
    day               BIGINT           NOT NULL,
    reserved_microusd BIGINT           NOT NULL CHECK (reserved_microusd >= 0),
    settled_microusd  BIGINT           NOT NULL CHECK (settled_microusd >= 0),
    requests          BIGINT           NOT NULL,
    PRIMARY KEY (agent_id, day)
);

-- Limits that people set on what agents use, each with its use so far. `settled` counts in the period with the number
-- `period_index`; a later period starts at zero, and an earlier one is never counted again. `reserved` is the sum of
-- the holds on the limit. The subject is empty for all agents together. A daily cap on money is in `cap`.
CREATE TABLE budget_limit (
    limit_id      BYTEA            NOT NULL PRIMARY KEY CHECK (length(limit_id) = 32),
    scope         TEXT COLLATE "C" NOT NULL CHECK (scope IN ('all', 'tree', 'agent', 'session', 'run')),
    subject       TEXT COLLATE "C" NOT NULL,
    resource      TEXT COLLATE "C" NOT NULL CHECK (resource IN ('money', 'tokens', 'run_time', 'tool_calls', 'written_bytes')),
    period        TEXT COLLATE "C" NOT NULL CHECK (period IN ('daily', 'monthly', 'yearly', 'lifetime')),
    max           BIGINT           NOT NULL CHECK (max >= 0),
    period_index  BIGINT           NOT NULL,
    reserved      BIGINT           NOT NULL CHECK (reserved >= 0),
    settled       BIGINT           NOT NULL CHECK (settled >= 0),
    counted_at_ms BIGINT           NOT NULL,
    set_at_ms     BIGINT           NOT NULL,
    UNIQUE (scope, subject, resource, period),
    CHECK ((scope = 'all') = (subject = '')),
    CHECK (period = 'lifetime' OR scope IN ('all', 'agent'))
);

-- What an effect has reserved under a limit. Deleted when the effect ends, is withdrawn, or its run ends.
CREATE TABLE budget_hold (
    operation_id BYTEA  NOT NULL CHECK (length(operation_id) = 32),
    limit_id     BYTEA  NOT NULL CHECK (length(limit_id) = 32),
    run_key      BYTEA  NOT NULL CHECK (length(run_key) = 32),
    amount       BIGINT NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (operation_id, limit_id)
);
CREATE INDEX budget_hold_of_run ON budget_hold (run_key);
CREATE INDEX budget_hold_of_limit ON budget_hold (limit_id);

-- That a person confirmed, under this version of the rules, that a provider may receive agents' work.
CREATE TABLE privacy_receipt (
    provider       TEXT COLLATE "C" NOT NULL,
    policy_version TEXT COLLATE "C" NOT NULL,
    channel        TEXT COLLATE "C" NOT NULL,
    at_ms          BIGINT           NOT NULL,
    PRIMARY KEY (provider, policy_version)
);

-- Writes that touch both databases. A row is written with the intent of its action and ends with the result; what a
-- crash left in between is finished or compensated, and what can be neither waits here for a person.
CREATE TABLE saga (
    operation_id  BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    run_key       BYTEA            NOT NULL CHECK (octet_length(run_key) = 32),
    phase         TEXT COLLATE "C" NOT NULL CHECK (phase IN ('intent', 'agent', 'compensation')),
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('open', 'completed', 'compensated', 'stuck')),
    last_error    TEXT COLLATE "C",
    updated_at_ms BIGINT           NOT NULL,
    CHECK ((phase = 'intent' AND status = 'open') OR (phase = 'agent' AND status = 'completed') OR phase = 'compensation')
) WITH (fillfactor = 70);
CREATE INDEX saga_unfinished ON saga (updated_at_ms, operation_id) WHERE status IN ('open', 'stuck');

-- What agents want to be woken for. `spec` is JSON. A subscription sees changes of the journal after
-- `after_journal_seq`, and notices of agents that were written when the subscriptions had `after_version` or a later
-- version. `last_due_at_ms` is when its newest message may start.
CREATE TABLE subscription (
    subscription_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id              TEXT COLLATE "C" NOT NULL,
    spec                  TEXT COLLATE "C" NOT NULL,
    matches_agent_notices BIGINT           NOT NULL CHECK (matches_agent_notices IN (0, 1)),
    after_journal_seq     BIGINT           NOT NULL,
    after_version         BIGINT           NOT NULL,
    last_due_at_ms        BIGINT,
    is_active             BIGINT           NOT NULL CHECK (is_active IN (0, 1)),
    created_at_ms         BIGINT           NOT NULL
);
CREATE INDEX subscription_of_agent ON subscription (agent_id, subscription_id);
CREATE INDEX subscription_matching_agent_notices ON subscription (matches_agent_notices) WHERE matches_agent_notices = 1;

-- How far the journal's outbox was dispatched: `journal_seq` is the newest change, complete if
-- `journal_dispatched_to` is null, otherwise up to that subscription. `subscription_version` counts changes of the
-- subscriptions, so that a stale index is noticed. One row.
CREATE TABLE outbox_cursor (
    row_id                BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    subscription_version  BIGINT NOT NULL,
    subscription_count    BIGINT NOT NULL CHECK (subscription_count >= 0),
    journal_seq           BIGINT NOT NULL,
    journal_dispatched_to TEXT COLLATE "C"
);
INSERT INTO outbox_cursor (row_id, subscription_version, subscription_count, journal_seq, journal_dispatched_to)
VALUES (1, 0, 0, 0, NULL);

-- Notices of agents' own events until they are dispatched, keyed by the event. Written only while a subscription
-- matches such notices.
CREATE TABLE agent_outbox (
    agent_id             TEXT COLLATE "C" NOT NULL,
    seq                  BIGINT           NOT NULL,
    body                 TEXT COLLATE "C" NOT NULL,
    dispatched_to        TEXT COLLATE "C",
    at_ms                BIGINT           NOT NULL,
    subscription_version BIGINT           NOT NULL,
    PRIMARY KEY (agent_id, seq)
);

-- Schedules: which agent to wake, when, and with which message. The pattern is stored as it was given; the next
-- firing is computed from it. `guard` is a condition as JSON, `event_name` an event that fires the schedule beside
-- its times.
CREATE TABLE schedule (
    schedule_id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id                   TEXT COLLATE "C" NOT NULL,
    revision                   BIGINT           NOT NULL CHECK (revision > 0),
    label                      TEXT COLLATE "C" NOT NULL,
    pattern                    TEXT COLLATE "C" NOT NULL,
    message                    TEXT COLLATE "C" NOT NULL,
    status                     TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'disabled', 'expired')),
    concurrency                TEXT COLLATE "C" NOT NULL CHECK (concurrency IN ('allow', 'forbid', 'replace')),
    allows_catch_up            BIGINT           NOT NULL DEFAULT 0,
    auto_disable_after_run     BIGINT           NOT NULL DEFAULT 0,
    catch_up_window_seconds    BIGINT           NOT NULL DEFAULT 86400 CHECK (catch_up_window_seconds > 0),
    max_catch_up_runs_per_tick BIGINT           NOT NULL DEFAULT 1 CHECK (max_catch_up_runs_per_tick > 0),
    wakes_always               BIGINT           NOT NULL DEFAULT 0,
    last_execution_at_ms       BIGINT,
    next_execution_at_ms       BIGINT,
    evaluated_until_ms         BIGINT           NOT NULL,
    last_run_key               BYTEA            CHECK (octet_length(last_run_key) = 32),
    execution_count            BIGINT           NOT NULL DEFAULT 0,
    version                    BIGINT           NOT NULL,
    guard                      TEXT COLLATE "C",
    event_name                 TEXT COLLATE "C",
    created_at_ms              BIGINT           NOT NULL
);
CREATE INDEX schedule_due ON schedule (next_execution_at_ms) WHERE status = 'active';
CREATE INDEX schedule_evaluated ON schedule (evaluated_until_ms) WHERE status = 'active';
CREATE INDEX schedule_of_agent ON schedule (agent_id, schedule_id);
CREATE INDEX schedule_of_event ON schedule (event_name) WHERE event_name IS NOT NULL;

-- What became of each firing. The newest of each schedule are kept; the schedule counts all of them.
CREATE TABLE scheduled_execution (
    schedule_id    TEXT COLLATE "C" NOT NULL,
    seq            BIGINT           NOT NULL,
    revision       BIGINT           NOT NULL,
    due_at_ms      BIGINT           NOT NULL,
    firing_count   BIGINT           NOT NULL CHECK (firing_count > 0),
    is_capped      BIGINT           NOT NULL,
    trigger_source TEXT COLLATE "C" NOT NULL CHECK (trigger_source IN ('tick', 'trigger_now', 'event')),
    outcome        TEXT COLLATE "C" NOT NULL,
    reason         TEXT COLLATE "C",
    run_key        BYTEA            CHECK (octet_length(run_key) = 32),
    is_catch_up    BIGINT           NOT NULL,
    at_ms          BIGINT           NOT NULL,
    PRIMARY KEY (schedule_id, seq)
);

-- The capability by which an external system may wake an agent. Its URL is derived from the secret, the id and the
-- generation, and is not stored.
CREATE TABLE external_trigger (
    external_trigger_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    agent_id             TEXT COLLATE "C" NOT NULL UNIQUE,
    generation           BIGINT           NOT NULL CHECK (generation > 0),
    is_active            BIGINT           NOT NULL CHECK (is_active IN (0, 1)),
    trigger_count        BIGINT           NOT NULL DEFAULT 0,
    last_triggered_at_ms BIGINT,
    created_at_ms        BIGINT           NOT NULL
);

-- Accepted deliveries, for as long as a repeated one must be recognised.
CREATE TABLE external_trigger_delivery (
    external_trigger_id TEXT COLLATE "C" NOT NULL,
    delivery_id         TEXT COLLATE "C" NOT NULL,
    at_ms               BIGINT           NOT NULL,
    PRIMARY KEY (external_trigger_id, delivery_id)
);
CREATE INDEX external_trigger_delivery_age ON external_trigger_delivery (external_trigger_id, at_ms);

-- The secret that trigger URLs are derived from. At most one row.
CREATE TABLE external_trigger_secret (
    row_id BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    secret BYTEA  NOT NULL CHECK (octet_length(secret) = 32)
);

-- How far retention and garbage collection are. `unswept_generation` is the generation of the last removal that was
-- not yet collected, or 0; `age_clock_ms` is a clock that never goes back. One row.
CREATE TABLE retention_state (
    row_id             BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    generation         BIGINT NOT NULL,
    generation_at_ms   BIGINT NOT NULL,
    age_clock_ms       BIGINT NOT NULL,
    pruned_at_ms       BIGINT NOT NULL,
    unswept_generation BIGINT NOT NULL
);
INSERT INTO retention_state (row_id, generation, generation_at_ms, age_clock_ms, pruned_at_ms, unswept_generation)
VALUES (1, 1, 0, 0, 0, 0);
