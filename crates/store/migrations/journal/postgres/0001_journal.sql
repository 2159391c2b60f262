-- The journal: what people wrote or observed, and what agents wrote for them. It stands apart from what agents are, so
-- that their database can be pruned or reset without harming it. Nothing here points into that database; agents appear
-- by name, as authors.
--
-- Every write is one transaction: the record, the change units that tell of it, and the operation that it was known by.
-- A record that was taken away stays as a tombstone, because others may have heard of it. Times are milliseconds since
-- 1970, hashes are their 32 bytes, names of records are 32 hex digits.
--
-- The same tables as on SQLite, with the types that 0001_line.sql explains.

-- Whose journal it is, how many transactions it has written itself (the counter of change units), and how many it has
-- seen in all, its own among them (the places of the outbox). One row, and locked first by whoever writes.
CREATE TABLE host (
    row_id      BIGINT NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT   COLLATE "C" NOT NULL,
    incarnation BIGINT NOT NULL,
    counter     BIGINT NOT NULL DEFAULT 0 CHECK (counter >= 0),
    last_seq    BIGINT NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
);

CREATE TABLE category (
    category_id   TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    name          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE UNIQUE INDEX category_name ON category (name) WHERE removed_at_ms IS NULL;

CREATE TABLE task (
    task_id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    category_id   TEXT   COLLATE "C",
    title         TEXT   COLLATE "C" NOT NULL,
    details       TEXT   COLLATE "C" NOT NULL,
    status        TEXT   COLLATE "C" NOT NULL CHECK (status IN ('open', 'in_progress', 'done', 'dropped')),
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX task_listed ON task (created_at_ms, task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX task_by_status ON task (status, created_at_ms, task_id) WHERE removed_at_ms IS NULL;

CREATE TABLE note (
    note_id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT   COLLATE "C",
    body          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX note_listed ON note (created_at_ms, note_id) WHERE removed_at_ms IS NULL;
CREATE INDEX note_of_task ON note (task_id, created_at_ms, note_id) WHERE removed_at_ms IS NULL;

-- The outbox: one row per change unit. Those of one transaction have the same place and the same counter. Whoever reads
-- it keeps a cursor on `seq` in a database of its own.
CREATE TABLE change (
    seq          BIGINT NOT NULL,
    host_id      TEXT   COLLATE "C" NOT NULL,
    counter      BIGINT NOT NULL CHECK (counter > 0),
    payload_type TEXT   COLLATE "C" NOT NULL,
    payload_id   TEXT   COLLATE "C" NOT NULL,
    tokens       TEXT   COLLATE "C" NOT NULL,
    author       TEXT   COLLATE "C" NOT NULL,
    operation_id BYTEA  NOT NULL CHECK (octet_length(operation_id) = 32),
    at_ms        BIGINT NOT NULL,
    PRIMARY KEY (seq, payload_type, payload_id),
    UNIQUE (host_id, counter, payload_type, payload_id)
);

-- Every operation that was carried out or called off, so that its second use changes nothing and is answered like its
-- first. `mutation` tells whether it is the same; `previous` is what undoing gives back.
CREATE TABLE operation (
    operation_id BYTEA  NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    state        TEXT   COLLATE "C" NOT NULL CHECK (state IN ('written', 'undone', 'void')),
    mutation     BYTEA  CHECK (octet_length(mutation) = 32),
    receipt      TEXT   COLLATE "C",
    previous     TEXT   COLLATE "C",
    author       TEXT   COLLATE "C",
    at_ms        BIGINT NOT NULL,
    CHECK ((state = 'void') = (receipt IS NULL)),
    CHECK ((state = 'void') = (author IS NULL))
);
