-- What comes from outside: watched folders and Git repositories, and what was last seen of each file and ref. It stands
-- beside the outbox because both move in one transaction: what was seen is told once.

-- `version` counts the writes of what was seen; who looks compares with one and writes the next. `fresh` until all that was
-- there from the beginning is written down, which is never told.
CREATE TABLE source (
    source_id     TEXT    NOT NULL PRIMARY KEY,
    kind          TEXT    NOT NULL CHECK (kind IN ('folder', 'git')),
    path          TEXT    NOT NULL,
    device        TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    version       INTEGER NOT NULL CHECK (version >= 0),
    fresh         INTEGER NOT NULL CHECK (fresh IN (0, 1)),
    trouble       TEXT,
    UNIQUE (kind, path, device)
) STRICT;

-- One row per file or ref. `name` is exact, whatever its bytes are. Without a mark it is gone, and its row stays for a
-- while for those who have yet to hear of it. `seq` is the place in the outbox that told of it last.
CREATE TABLE seen (
    record_id TEXT    NOT NULL PRIMARY KEY,
    source_id TEXT    NOT NULL,
    name      BLOB NOT NULL,
    mark      BLOB,
    size      INTEGER NOT NULL CHECK (size >= 0),
    stamp     TEXT,
    change    TEXT CHECK (change IN ('created', 'changed', 'deleted')),
    seq       INTEGER NOT NULL CHECK (seq >= 0),
    at_ms     INTEGER NOT NULL,
    UNIQUE (source_id, name)
) STRICT;
CREATE INDEX seen_gone ON seen (source_id, seq) WHERE mark IS NULL;
