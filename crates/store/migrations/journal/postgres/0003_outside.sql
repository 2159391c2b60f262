-- What comes from outside: watched folders and Git repositories, and what was last seen of each file and ref. It stands
-- beside the outbox because both move in one transaction: what was seen is told once.
--
-- The same tables as on SQLite, with the types that 0001_line.sql explains.

-- `version` counts the writes of what was seen; who looks compares with one and writes the next. `fresh` until all that was
-- there from the beginning is written down, which is never told.
CREATE TABLE source (
    source_id     TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    kind          TEXT    COLLATE "C" NOT NULL CHECK (kind IN ('folder', 'git')),
    path          TEXT    COLLATE "C" NOT NULL,
    device        TEXT    COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    version       BIGINT NOT NULL CHECK (version >= 0),
    fresh         BIGINT NOT NULL CHECK (fresh IN (0, 1)),
    trouble       TEXT COLLATE "C",
    UNIQUE (kind, path, device)
);

-- One row per file or ref. `name` is exact, whatever its bytes are. Without a mark it is gone, and its row stays for a
-- while for those who have yet to hear of it. `seq` is the place in the outbox that told of it last.
CREATE TABLE seen (
    record_id TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    source_id TEXT    COLLATE "C" NOT NULL,
    name      BYTEA NOT NULL,
    mark      BYTEA,
    size      BIGINT NOT NULL CHECK (size >= 0),
    stamp     TEXT COLLATE "C",
    change    TEXT COLLATE "C" CHECK (change IN ('created', 'changed', 'deleted')),
    seq       BIGINT NOT NULL CHECK (seq >= 0),
    at_ms     BIGINT NOT NULL,
    UNIQUE (source_id, name)
);
CREATE INDEX seen_gone ON seen (source_id, seq) WHERE mark IS NULL;
