-- The rest of the journal: checklists, time, plans of days, ratings and links. As before, a record that was taken away
-- stays as a tombstone, and nothing here points into the database of agents.
--
-- The same tables as on SQLite, with the types that 0001_line.sql explains.

CREATE TABLE checklist (
    checklist_id  TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT   COLLATE "C" NOT NULL,
    title         TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);

CREATE TABLE checklist_item (
    item_id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    checklist_id  TEXT   COLLATE "C" NOT NULL,
    body          TEXT   COLLATE "C" NOT NULL,
    checked       BIGINT NOT NULL CHECK (checked IN (0, 1)),
    position      BIGINT NOT NULL CHECK (position > 0),
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT
);

-- Without an end it runs.
CREATE TABLE time_entry (
    entry_id      TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    task_id       TEXT   COLLATE "C" NOT NULL,
    started_at_ms BIGINT NOT NULL,
    ended_at_ms   BIGINT,
    description   TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (ended_at_ms >= started_at_ms)
);

-- One per day, tombstones among them: the day names it.
CREATE TABLE day_plan (
    plan_id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    day           TEXT   COLLATE "C" NOT NULL,
    note          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    UNIQUE (day)
);

CREATE TABLE day_plan_block (
    block_id      TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    plan_id       TEXT   COLLATE "C" NOT NULL,
    starts_at_ms  BIGINT NOT NULL,
    ends_at_ms    BIGINT NOT NULL,
    task_id       TEXT   COLLATE "C",
    category_id   TEXT   COLLATE "C",
    note          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (ends_at_ms > starts_at_ms)
);

-- Of a record or of a day; target and scale name it.
CREATE TABLE rating (
    rating_id     TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    target_id     TEXT   COLLATE "C",
    target_day    TEXT   COLLATE "C",
    scale         TEXT   COLLATE "C" NOT NULL,
    value         BIGINT NOT NULL,
    most          BIGINT NOT NULL,
    note          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK ((target_id IS NULL) <> (target_day IS NULL)),
    CHECK (value BETWEEN 1 AND most)
);

-- Both ends are records of any kind.
CREATE TABLE link (
    link_id       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    from_id       TEXT   COLLATE "C" NOT NULL,
    to_id         TEXT   COLLATE "C" NOT NULL,
    kind          TEXT   COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version > 0),
    removed_at_ms BIGINT,
    CHECK (from_id <> to_id)
);

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
