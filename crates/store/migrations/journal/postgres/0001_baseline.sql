-- The journal: what people wrote or observed, and what agents wrote for them. It is a database of its own, so that
-- the agents' database can be pruned or reset without harming it. Nothing here refers to that database; agents appear
-- by name, as authors.
--
-- The same tables as on SQLite. Only BIGINT, TEXT and BYTEA, so that a parameter has one possible type; text is
-- compared by its bytes, so that names sort alike on every server. Every write is one transaction: the record, its
-- change units and its operation. A removed record stays as a tombstone, because others may know of it. Times are
-- milliseconds since 1970, hashes are their 32 bytes, ids of records are 32 hex digits.

-- Whose journal this is, how many transactions it wrote itself (`counter`, that of the change units), and how many it
-- has seen in all (`last_seq`, that of the outbox). One row; every writer locks it first.
CREATE TABLE host (
    row_id      BIGINT           NOT NULL PRIMARY KEY CHECK (row_id = 1),
    host_id     TEXT COLLATE "C" NOT NULL,
    incarnation BIGINT           NOT NULL,
    counter     BIGINT           NOT NULL DEFAULT 0 CHECK (counter >= 0),
    last_seq    BIGINT           NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
);

-- Names that tasks and blocks of a day are grouped by.
CREATE TABLE category (
    category_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE UNIQUE INDEX category_name ON category (name) WHERE removed_at_ms IS NULL;

-- What is to be done.
CREATE TABLE task (
    task_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    category_id   TEXT COLLATE "C",
    title         TEXT COLLATE "C" NOT NULL,
    details       TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('open', 'in_progress', 'done', 'dropped')),
    created_at_ms BIGINT           NOT NULL,
    updated_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX task_listed ON task (created_at_ms, task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX task_by_status ON task (status, created_at_ms, task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX task_of_category ON task (category_id) WHERE removed_at_ms IS NULL;

-- Free text, on its own or about a task.
CREATE TABLE note (
    note_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT COLLATE "C",
    body          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX note_listed ON note (created_at_ms, note_id) WHERE removed_at_ms IS NULL;
CREATE INDEX note_of_task ON note (task_id, created_at_ms, note_id) WHERE removed_at_ms IS NULL;

-- Lists of small steps within a task.
CREATE TABLE checklist (
    checklist_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT COLLATE "C" NOT NULL,
    title         TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX checklist_of_task ON checklist (task_id, created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;
CREATE INDEX checklist_listed ON checklist (created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;

-- The steps of a checklist, in the order of `position`.
CREATE TABLE checklist_item (
    item_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    checklist_id  TEXT COLLATE "C" NOT NULL,
    body          TEXT COLLATE "C" NOT NULL,
    checked       BIGINT           NOT NULL CHECK (checked IN (0, 1)),
    position      BIGINT           NOT NULL CHECK (position > 0),
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);
CREATE INDEX item_of_checklist ON checklist_item (checklist_id, position, item_id) WHERE removed_at_ms IS NULL;

-- Time spent on a task. An entry without an end is running.
CREATE TABLE time_entry (
    entry_id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT COLLATE "C" NOT NULL,
    started_at_ms BIGINT           NOT NULL,
    ended_at_ms   BIGINT,
    description   TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (ended_at_ms >= started_at_ms)
);
CREATE INDEX time_of_task ON time_entry (task_id, started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_listed ON time_entry (started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_running ON time_entry (started_at_ms, entry_id) WHERE removed_at_ms IS NULL AND ended_at_ms IS NULL;

-- The plan of a day, at most one per day, tombstones included.
CREATE TABLE day_plan (
    plan_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    day           TEXT COLLATE "C" NOT NULL,
    note          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    UNIQUE (day)
);

-- What a plan sets time aside for.
CREATE TABLE day_plan_block (
    block_id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    plan_id       TEXT COLLATE "C" NOT NULL,
    starts_at_ms  BIGINT           NOT NULL,
    ends_at_ms    BIGINT           NOT NULL,
    task_id       TEXT COLLATE "C",
    category_id   TEXT COLLATE "C",
    note          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (ends_at_ms > starts_at_ms)
);
CREATE INDEX block_of_plan ON day_plan_block (plan_id, starts_at_ms, block_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_task ON day_plan_block (task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_category ON day_plan_block (category_id) WHERE removed_at_ms IS NULL;

-- How a record or a day was rated on a scale. Target and scale identify it.
CREATE TABLE rating (
    rating_id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    target_id     TEXT COLLATE "C",
    target_day    TEXT COLLATE "C",
    scale         TEXT COLLATE "C" NOT NULL,
    value         BIGINT           NOT NULL,
    scale_max     BIGINT           NOT NULL,
    note          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK ((target_id IS NULL) <> (target_day IS NULL)),
    CHECK (value BETWEEN 1 AND scale_max)
);
CREATE INDEX rating_of_record ON rating (target_id, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_of_day ON rating (target_day, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_listed ON rating (created_at_ms, rating_id) WHERE removed_at_ms IS NULL;

-- A relation between two records of any kind.
CREATE TABLE link (
    link_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    from_id       TEXT COLLATE "C" NOT NULL,
    to_id         TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT           NOT NULL,
    version       BIGINT           NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (from_id <> to_id)
);
CREATE INDEX link_from ON link (from_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_to ON link (to_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_listed ON link (created_at_ms, link_id) WHERE removed_at_ms IS NULL;

-- The outbox: one row per change unit. Those of one transaction have the same `seq` and `counter`. A reader keeps its
-- cursor on `seq` in a database of its own.
CREATE TABLE change (
    seq          BIGINT           NOT NULL,
    host_id      TEXT COLLATE "C" NOT NULL,
    counter      BIGINT           NOT NULL CHECK (counter > 0),
    payload_type TEXT COLLATE "C" NOT NULL,
    payload_id   TEXT COLLATE "C" NOT NULL,
    tokens       TEXT COLLATE "C" NOT NULL,
    author       TEXT COLLATE "C" NOT NULL,
    operation_id BYTEA            NOT NULL CHECK (octet_length(operation_id) = 32),
    at_ms        BIGINT           NOT NULL,
    PRIMARY KEY (seq, payload_type, payload_id),
    UNIQUE (host_id, counter, payload_type, payload_id)
);

-- Every operation that was carried out or cancelled, so that repeating one changes nothing and gives the first answer
-- again. `mutation_hash` tells whether it is the same operation; `previous_records` is what undoing restores.
CREATE TABLE operation (
    operation_id     BYTEA            NOT NULL PRIMARY KEY CHECK (octet_length(operation_id) = 32),
    state            TEXT COLLATE "C" NOT NULL CHECK (state IN ('written', 'undone', 'void')),
    mutation_hash    BYTEA            CHECK (octet_length(mutation_hash) = 32),
    receipt          TEXT COLLATE "C",
    previous_records TEXT COLLATE "C",
    author           TEXT COLLATE "C",
    at_ms            BIGINT           NOT NULL,
    CHECK ((state = 'void') = (receipt IS NULL)),
    CHECK ((state = 'void') = (author IS NULL))
);

-- Watched folders and Git repositories, beside the outbox because both change in one transaction. `version` counts
-- writes of the entries; a watcher compares it and writes the next. What the initial scan finds is not reported as a
-- change.
CREATE TABLE source (
    source_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind            TEXT COLLATE "C" NOT NULL CHECK (kind IN ('folder', 'git')),
    path            TEXT COLLATE "C" NOT NULL,
    device          TEXT COLLATE "C" NOT NULL,
    created_at_ms   BIGINT           NOT NULL,
    version         BIGINT           NOT NULL CHECK (version >= 0),
    is_initial_scan BIGINT           NOT NULL CHECK (is_initial_scan IN (0, 1)),
    last_error      TEXT COLLATE "C",
    UNIQUE (kind, path, device)
);

-- What was last seen of each watched file or Git ref. `name` is exact, whatever its bytes are. `content_mark` is null
-- once it is deleted; the row stays for a while for readers that have yet to learn of it. `seq` is the change that
-- reported it last.
CREATE TABLE source_entry (
    record_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source_id    TEXT COLLATE "C" NOT NULL,
    name         BYTEA            NOT NULL,
    content_mark BYTEA,
    size         BIGINT           NOT NULL CHECK (size >= 0),
    file_stamp   TEXT COLLATE "C",
    last_change  TEXT COLLATE "C" CHECK (last_change IN ('created', 'changed', 'deleted')),
    seq          BIGINT           NOT NULL CHECK (seq >= 0),
    at_ms        BIGINT           NOT NULL,
    UNIQUE (source_id, name)
);
CREATE INDEX source_entry_deleted ON source_entry (source_id, seq) WHERE content_mark IS NULL;
