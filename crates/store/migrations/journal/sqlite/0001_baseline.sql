-- The journal: what people wrote or observed, and what agents wrote for them. It is a database of its own, so that
-- the agents' database can be pruned or reset without harming it. Nothing here refers to that database; agents appear
-- by name, as authors.
--
-- Every write is one transaction: the record, its change units and its operation. A removed record stays as a
-- tombstone, because others may know of it. Times are milliseconds since 1970, hashes are their 32 bytes, ids of
-- records are 32 hex digits.

-- Whose journal this is, how many transactions it wrote itself (`counter`, that of the change units), and how many it
-- has seen in all (`last_seq`, that of the outbox). One row; every writer locks it first.
CREATE TABLE host (
    row_id      INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT    NOT NULL,
    incarnation INTEGER NOT NULL,
    counter     INTEGER NOT NULL DEFAULT 0 CHECK (counter >= 0),
    last_seq    INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
) STRICT;

-- Names that tasks and blocks of a day are grouped by.
CREATE TABLE category (
    category_id   TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX category_name ON category (name) WHERE removed_at_ms IS NULL;

-- What is to be done.
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
CREATE INDEX task_of_category ON task (category_id) WHERE removed_at_ms IS NULL;

-- Free text, on its own or about a task.
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

-- Lists of small steps within a task.
CREATE TABLE checklist (
    checklist_id  TEXT    NOT NULL PRIMARY KEY,
    task_id       TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT;
CREATE INDEX checklist_of_task ON checklist (task_id, created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;
CREATE INDEX checklist_listed ON checklist (created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;

-- The steps of a checklist, in the order of `position`.
CREATE TABLE checklist_item (
    item_id       TEXT    NOT NULL PRIMARY KEY,
    checklist_id  TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    checked       INTEGER NOT NULL CHECK (checked IN (0, 1)),
    position      INTEGER NOT NULL CHECK (position > 0),
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT;
CREATE INDEX item_of_checklist ON checklist_item (checklist_id, position, item_id) WHERE removed_at_ms IS NULL;

-- Time spent on a task. An entry without an end is running.
CREATE TABLE time_entry (
    entry_id      TEXT    NOT NULL PRIMARY KEY,
    task_id       TEXT    NOT NULL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER,
    description   TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    CHECK (ended_at_ms >= started_at_ms)
) STRICT;
CREATE INDEX time_of_task ON time_entry (task_id, started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_listed ON time_entry (started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_running ON time_entry (started_at_ms, entry_id) WHERE removed_at_ms IS NULL AND ended_at_ms IS NULL;

-- The plan of a day, at most one per day, tombstones included.
CREATE TABLE day_plan (
    plan_id       TEXT    NOT NULL PRIMARY KEY,
    day           TEXT    NOT NULL,
    note          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    UNIQUE (day)
) STRICT;

-- What a plan sets time aside for.
CREATE TABLE day_plan_block (
    block_id      TEXT    NOT NULL PRIMARY KEY,
    plan_id       TEXT    NOT NULL,
    starts_at_ms  INTEGER NOT NULL,
    ends_at_ms    INTEGER NOT NULL,
    task_id       TEXT,
    category_id   TEXT,
    note          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    CHECK (ends_at_ms > starts_at_ms)
) STRICT;
CREATE INDEX block_of_plan ON day_plan_block (plan_id, starts_at_ms, block_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_task ON day_plan_block (task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_category ON day_plan_block (category_id) WHERE removed_at_ms IS NULL;

-- How a record or a day was rated on a scale. Target and scale identify it.
CREATE TABLE rating (
    rating_id     TEXT    NOT NULL PRIMARY KEY,
    target_id     TEXT,
    target_day    TEXT,
    scale         TEXT    NOT NULL,
    value         INTEGER NOT NULL,
    scale_max     INTEGER NOT NULL,
    note          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    CHECK ((target_id IS NULL) <> (target_day IS NULL)),
    CHECK (value BETWEEN 1 AND scale_max)
) STRICT;
CREATE INDEX rating_of_record ON rating (target_id, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_of_day ON rating (target_day, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_listed ON rating (created_at_ms, rating_id) WHERE removed_at_ms IS NULL;

-- A relation between two records of any kind.
CREATE TABLE link (
    link_id       TEXT    NOT NULL PRIMARY KEY,
    from_id       TEXT    NOT NULL,
    to_id         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    CHECK (from_id <> to_id)
) STRICT;
CREATE INDEX link_from ON link (from_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_to ON link (to_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_listed ON link (created_at_ms, link_id) WHERE removed_at_ms IS NULL;

-- The outbox: one row per change unit. Those of one transaction have the same `seq` and `counter`. A reader keeps its
-- cursor on `seq` in a database of its own.
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

-- Every operation that was carried out or cancelled, so that repeating one changes nothing and gives the first answer
-- again. `mutation_hash` tells whether it is the same operation; `previous_records` is what undoing restores.
CREATE TABLE operation (
    operation_id     BLOB    NOT NULL PRIMARY KEY CHECK (length(operation_id) = 32),
    state            TEXT    NOT NULL CHECK (state IN ('written', 'undone', 'void')),
    mutation_hash    BLOB    CHECK (length(mutation_hash) = 32),
    receipt          TEXT,
    previous_records TEXT,
    author           TEXT,
    at_ms            INTEGER NOT NULL,
    CHECK ((state = 'void') = (receipt IS NULL)),
    CHECK ((state = 'void') = (author IS NULL))
) STRICT;

-- Watched folders and Git repositories, beside the outbox because both change in one transaction. `version` counts
-- writes of the entries; a watcher compares it and writes the next. What the initial scan finds is not reported as a
-- change.
CREATE TABLE source (
    source_id       TEXT    NOT NULL PRIMARY KEY,
    kind            TEXT    NOT NULL CHECK (kind IN ('folder', 'git')),
    path            TEXT    NOT NULL,
    device          TEXT    NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 0),
    is_initial_scan INTEGER NOT NULL CHECK (is_initial_scan IN (0, 1)),
    last_error      TEXT,
    UNIQUE (kind, path, device)
) STRICT;

-- What was last seen of each watched file or Git ref. `name` is exact, whatever its bytes are. `content_mark` is null
-- once it is deleted; the row stays for a while for readers that have yet to learn of it. `seq` is the change that
-- reported it last.
CREATE TABLE source_entry (
    record_id    TEXT    NOT NULL PRIMARY KEY,
    source_id    TEXT    NOT NULL,
    name         BLOB    NOT NULL,
    content_mark BLOB,
    size         INTEGER NOT NULL CHECK (size >= 0),
    file_stamp   TEXT,
    last_change  TEXT    CHECK (last_change IN ('created', 'changed', 'deleted')),
    seq          INTEGER NOT NULL CHECK (seq >= 0),
    at_ms        INTEGER NOT NULL,
    UNIQUE (source_id, name)
) STRICT;
CREATE INDEX source_entry_deleted ON source_entry (source_id, seq) WHERE content_mark IS NULL;
