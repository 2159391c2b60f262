-- The journal: what people wrote or observed, and what agents wrote for them. It stands apart from what agents are, so
-- that their database can be pruned or reset without harming it. Nothing here points into that database; agents appear
-- by name, as authors.
--
-- Every write is one transaction: the record, the change units that tell of it, and the operation that it was known by.
-- A record that was taken away stays as a tombstone, because others may have heard of it. Times are milliseconds since
-- 1970, hashes are their 32 bytes, names of records are 32 hex digits.

-- Whose journal it is, how many transactions it has written itself (the counter of change units), and how many it has
-- seen in all, its own among them (the places of the outbox). One row, and locked first by whoever writes.
CREATE TABLE host (
    row_id      INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT    NOT NULL,
    incarnation INTEGER NOT NULL,
    counter     INTEGER NOT NULL DEFAULT 0 CHECK (counter >= 0),
    last_seq    INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
) STRICT;

CREATE TABLE category (
    category_id   TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX category_name ON category (name) WHERE removed_at_ms IS NULL;

CREATE TABLE task (
    task_id       TEXT    NOT NULL PRIMARY KEY,
    category_id   TEXT,
    title         TEXT    NOT NULL,
    details       TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('open', 'in_progress', 'done', 'dropped')),
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT;
CREATE INDEX task_listed ON task (created_at_ms, task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX task_by_status ON task (status, created_at_ms, task_id) WHERE removed_at_ms IS NULL;

CREATE TABLE note (
    note_id       TEXT    NOT NULL PRIMARY KEY,
    task_id       TEXT,
    body          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT;
CREATE INDEX note_listed ON note (created_at_ms, note_id) WHERE removed_at_ms IS NULL;
CREATE INDEX note_of_task ON note (task_id, created_at_ms, note_id) WHERE removed_at_ms IS NULL;

-- The outbox: one row per change unit. Those of one transaction have the same place and the same counter. Whoever reads
-- it keeps a cursor on `seq` in a database of its own.
CREATE TABLE change (
    seq          INTEGER NOT NULL,
    host_id      TEXT    NOT NULL,
    counter      INTEGER NOT NULL CHECK (counter > 0),
    payload_type TEXT    NOT NULL,
    payload_id   TEXT    NOT NULL,
    tokens       TEXT    NOT NULL,
    author       TEXT    NOT NULL,
    operation_id BLOB    NOT NULL CHECK (length(operation_id) = 32),
    at_ms        INTEGER NOT NULL,
    PRIMARY KEY (seq, payload_type, payload_id),
    UNIQUE (host_id, counter, payload_type, payload_id)
) STRICT, WITHOUT ROWID;

-- Every operation that was carried out or called off, so that its second use changes nothing and is answered like its
-- first. `mutation` tells whether it is the same; `previous` is what undoing gives back.
CREATE TABLE operation (
    operation_id BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    state        TEXT    NOT NULL CHECK (state IN ('written', 'undone', 'void')),
    mutation     BLOB    CHECK (length(mutation) = 32),
    receipt      TEXT,
    previous     TEXT,
    author       TEXT,
    at_ms        INTEGER NOT NULL,
    CHECK ((state = 'void') = (receipt IS NULL)),
    CHECK ((state = 'void') = (author IS NULL))
) STRICT;
