-- The first tables: one line from a message to its report. The file holds what an agent did and is about to do;
-- what people wrote stands elsewhere.
--
-- No foreign keys: parent and child are written in the same transaction by the same verb, and a lookup per row
-- would be paid for on every step. Times are milliseconds since 1970, hashes are their 32 bytes. A table is
-- WITHOUT ROWID only where its rows stay small: such rows leave their page at about 1 kB, and each that does
-- takes a whole page of its own.

-- Whose database it is, so that events name the host and its life. One row.
CREATE TABLE host (
    row_id      INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT    NOT NULL,
    incarnation INTEGER NOT NULL
) STRICT;

CREATE TABLE agent (
    agent_id      TEXT    NOT NULL PRIMARY KEY,
    visibility    TEXT    NOT NULL CHECK (visibility IN ('public', 'private')),
    lifecycle     TEXT    NOT NULL,
    workspace     TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    model_rounds  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Fence, sequence and chain of an agent in one row, because every transition checks and moves all three.
CREATE TABLE agent_head (
    agent_id    TEXT    NOT NULL PRIMARY KEY,
    incarnation TEXT    NOT NULL,
    runner_id   TEXT,
    fence       INTEGER NOT NULL,
    next_seq    INTEGER NOT NULL CHECK (next_seq > 0),
    chain_hash  BLOB    NOT NULL CHECK (length(chain_hash) = 32)
) STRICT, WITHOUT ROWID;

-- A message is named by the run it asks for; the second one with that name is the first one again.
CREATE TABLE message (
    run_key        BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    agent_id       TEXT    NOT NULL,
    thread_id      TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    authority      TEXT    NOT NULL,
    surface        TEXT    NOT NULL,
    context        TEXT    NOT NULL,
    body           BLOB    NOT NULL CHECK (length(body) = 32),
    admitted_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Why a message became a run, or why not.
CREATE TABLE wake (
    run_key  BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    agent_id TEXT    NOT NULL,
    verdict  TEXT    NOT NULL,
    gates    TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
    CHECK ((status = 'open') = (ended_at_ms IS NULL))
) STRICT;
CREATE INDEX run_open ON run (agent_id) WHERE status = 'open';
CREATE INDEX run_started ON run (started_at_ms);
CREATE INDEX run_of_agent ON run (agent_id, started_at_ms);

-- A wish of another process, which may not write the run itself.
CREATE TABLE run_cancel (
    run_key BLOB    NOT NULL PRIMARY KEY CHECK (length(run_key) = 32),
    at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a run was told, in order: enough to run it again and compare.
CREATE TABLE journal (
    run_key      BLOB    NOT NULL CHECK (length(run_key) = 32),
    ordinal      INTEGER NOT NULL,
    body         BLOB    NOT NULL,
    reads_hash   BLOB    NOT NULL CHECK (length(reads_hash) = 32),
    state_hash   BLOB    NOT NULL CHECK (length(state_hash) = 32),
    effects_hash BLOB    NOT NULL CHECK (length(effects_hash) = 32),
    at_ms        INTEGER NOT NULL,
    PRIMARY KEY (run_key, ordinal)
) STRICT;

-- One row per effect. An intent without an end is what recovery looks for.
CREATE TABLE step (
    operation_id  BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    run_key       BLOB    NOT NULL CHECK (length(run_key) = 32),
    ordinal       INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    class         TEXT,
    base          BLOB    CHECK (length(base) = 32),
    status        TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    put_at_ms     INTEGER NOT NULL,
    duration_ms   INTEGER,
    sandbox       TEXT,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    UNIQUE (run_key, ordinal)
) STRICT;
-- Equal actions of a run are counted before each plan.
CREATE INDEX step_base ON step (run_key, base) WHERE base IS NOT NULL;

-- The transcript: who spoke, and the name of what was said.
CREATE TABLE entry (
    thread_id TEXT    NOT NULL,
    position  INTEGER NOT NULL,
    run_key   BLOB    NOT NULL CHECK (length(run_key) = 32),
    role      TEXT    NOT NULL,
    content   BLOB    NOT NULL CHECK (length(content) = 32),
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (thread_id, position)
) STRICT, WITHOUT ROWID;

-- The log that proves itself. Erasing takes payload and salt and leaves the rest.
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

-- Contents by hash. Large ones are files, and their row has no bytes.
CREATE TABLE blob (
    hash     BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    size     INTEGER NOT NULL CHECK (size >= 0),
    encoding TEXT    NOT NULL CHECK (encoding IN ('raw', 'lz4', 'file')),
    bytes    BLOB,
    CHECK ((encoding = 'file') = (bytes IS NULL))
) STRICT;

-- Processes that may hold agents. `beat_at_ms` is by the clock of the database; here the home's lock is the
-- lease, and it stays 0.
CREATE TABLE runner (
    runner_id   TEXT    NOT NULL PRIMARY KEY,
    place       TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    pid_started INTEGER NOT NULL,
    beat_at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
