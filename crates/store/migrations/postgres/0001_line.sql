-- The first tables: one line from a message to its report. They hold what agents did and are about to do; what
-- people wrote stands elsewhere.
--
-- The same tables as on SQLite. Only BIGINT, TEXT and BYTEA, so that a parameter has one possible type; text is
-- compared by its bytes, so that names are ordered alike on every server. No foreign keys: they would lock the
-- parent's row for every child. Rows that change with every step leave room on their page, so that no index has to
-- follow them. Times are milliseconds since 1970, hashes are their 32 bytes.

-- Whose database it is, so that events name the host and its life. One row.
CREATE TABLE host (
    row_id BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL
);

CREATE TABLE agent (
    agent_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    visibility TEXT COLLATE "C" NOT NULL CHECK (visibility IN ('public', 'private')),
    lifecycle TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    model_rounds BIGINT NOT NULL
) WITH (fillfactor = 70);

-- Fence, sequence and chain of an agent in one row, because every transition checks and moves all three.
CREATE TABLE agent_head (
    agent_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation TEXT COLLATE "C" NOT NULL,
    runner_id TEXT COLLATE "C",
    fence BIGINT NOT NULL,
    next_seq BIGINT NOT NULL CHECK (next_seq > 0),
    chain_hash BYTEA NOT NULL CHECK (octet_length(chain_hash) = 32)
) WITH (fillfactor = 70);

-- A message is named by the run it asks for; the second one with that name is the first one again.
CREATE TABLE message (
    run_key BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    authority TEXT COLLATE "C" NOT NULL,
    surface TEXT COLLATE "C" NOT NULL,
    context TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL CHECK (octet_length(body) = 32),
    admitted_at_ms BIGINT NOT NULL
);

-- Why a message became a run, or why not.
CREATE TABLE wake (
    run_key BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    gates TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL
);

CREATE TABLE run (
    run_key BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    agent_id TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    machine_version BIGINT NOT NULL,
    version BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    started_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    CHECK ((status = 'open') = (ended_at_ms IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX run_open ON run (agent_id) WHERE status = 'open';
CREATE INDEX run_started ON run (started_at_ms);
CREATE INDEX run_of_agent ON run (agent_id, started_at_ms);

-- A wish of another process, which may not write the run itself.
CREATE TABLE run_cancel (
    run_key BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(run_key) = 32),
    at_ms BIGINT NOT NULL
);

-- What a run was told, in order: enough to run it again and compare.
CREATE TABLE journal (
    run_key BYTEA NOT NULL CHECK (octet_length(run_key) = 32),
    ordinal BIGINT NOT NULL,
    body BYTEA NOT NULL,
    reads_hash BYTEA NOT NULL CHECK (octet_length(reads_hash) = 32),
    state_hash BYTEA NOT NULL CHECK (octet_length(state_hash) = 32),
    effects_hash BYTEA NOT NULL CHECK (octet_length(effects_hash) = 32),
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (run_key, ordinal)
);

-- One row per effect. An intent without an end is what recovery looks for.
CREATE TABLE step (
    operation_id BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    run_key BYTEA NOT NULL CHECK (octet_length(run_key) = 32),
    ordinal BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    class TEXT COLLATE "C",
    base BYTEA CHECK (octet_length(base) = 32),
    status TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    put_at_ms BIGINT NOT NULL,
    duration_ms BIGINT,
    sandbox TEXT COLLATE "C",
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    UNIQUE (run_key, ordinal)
);
-- Equal actions of a run are counted before each plan.
CREATE INDEX step_base ON step (run_key, base) WHERE base IS NOT NULL;

-- The transcript: who spoke, and the name of what was said.
CREATE TABLE entry (
    thread_id TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    run_key BYTEA NOT NULL CHECK (octet_length(run_key) = 32),
    role TEXT COLLATE "C" NOT NULL,
    content BYTEA NOT NULL CHECK (octet_length(content) = 32),
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (thread_id, position)
);

-- The log that proves itself. Erasing takes payload and salt and leaves the rest.
CREATE TABLE event (
    agent_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    run_key BYTEA CHECK (octet_length(run_key) = 32),
    kind TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    hash BYTEA NOT NULL CHECK (octet_length(hash) = 32),
    payload_hash BYTEA NOT NULL CHECK (octet_length(payload_hash) = 32),
    policy_version TEXT COLLATE "C" NOT NULL,
    payload BYTEA,
    salt BYTEA CHECK (octet_length(salt) = 32),
    PRIMARY KEY (agent_id, seq),
    CHECK ((payload IS NULL) = (salt IS NULL))
);

-- Contents by hash, whatever their size: a file would be on one machine only. They are packed already, so the
-- server need not try again.
CREATE TABLE blob (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
    size BIGINT NOT NULL CHECK (size >= 0),
    encoding TEXT COLLATE "C" NOT NULL CHECK (encoding IN ('raw', 'lz4')),
    bytes BYTEA NOT NULL
);
ALTER TABLE blob ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Processes that may hold agents. `beat_at_ms` is by the clock of this database: those of the machines may differ.
CREATE TABLE runner (
    runner_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    place TEXT COLLATE "C" NOT NULL,
    pid BIGINT NOT NULL,
    pid_started BIGINT NOT NULL,
    beat_at_ms BIGINT NOT NULL
);
