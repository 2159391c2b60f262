-- The rest of the journal: checklists, time, plans of days, ratings and links. As before, a record that was taken away
-- stays as a tombstone, and nothing here points into the database of agents.

CREATE TABLE checklist (
    checklist_id  TEXT    NOT NULL PRIMARY KEY,
    task_id       TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER
) STRICT;

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

-- Without an end it runs.
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

-- One per day, tombstones among them: the day names it.
CREATE TABLE day_plan (
    plan_id       TEXT    NOT NULL PRIMARY KEY,
    day           TEXT    NOT NULL,
    note          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    UNIQUE (day)
) STRICT;

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

-- Of a record or of a day; target and scale name it.
CREATE TABLE rating (
    rating_id     TEXT    NOT NULL PRIMARY KEY,
    target_id     TEXT,
    target_day    TEXT,
    scale         TEXT    NOT NULL,
    value         INTEGER NOT NULL,
    most          INTEGER NOT NULL,
    note          TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version > 0),
    removed_at_ms INTEGER,
    CHECK ((target_id IS NULL) <> (target_day IS NULL)),
    CHECK (value BETWEEN 1 AND most)
) STRICT;

-- Both ends are records of any kind.
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

CREATE INDEX task_of_category ON task (category_id) WHERE removed_at_ms IS NULL;
CREATE INDEX checklist_of_task ON checklist (task_id, created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;
CREATE INDEX checklist_listed ON checklist (created_at_ms, checklist_id) WHERE removed_at_ms IS NULL;
CREATE INDEX item_of_checklist ON checklist_item (checklist_id, position, item_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_of_task ON time_entry (task_id, started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_listed ON time_entry (started_at_ms, entry_id) WHERE removed_at_ms IS NULL;
CREATE INDEX time_running ON time_entry (task_id) WHERE removed_at_ms IS NULL AND ended_at_ms IS NULL;
CREATE INDEX block_of_plan ON day_plan_block (plan_id, starts_at_ms, block_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_task ON day_plan_block (task_id) WHERE removed_at_ms IS NULL;
CREATE INDEX block_of_category ON day_plan_block (category_id) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_of_record ON rating (target_id, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_of_day ON rating (target_day, scale) WHERE removed_at_ms IS NULL;
CREATE INDEX rating_listed ON rating (created_at_ms, rating_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_from ON link (from_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_to ON link (to_id) WHERE removed_at_ms IS NULL;
CREATE INDEX link_listed ON link (created_at_ms, link_id) WHERE removed_at_ms IS NULL;
