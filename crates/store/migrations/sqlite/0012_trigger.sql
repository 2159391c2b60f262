-- The one capability by which systems outside may wake an agent. Its address is made of the secret, the name and the
-- generation; nobody keeps the address itself.
CREATE TABLE outside_trigger (
    trigger_id    TEXT    NOT NULL PRIMARY KEY,
    agent_id      TEXT    NOT NULL UNIQUE,
    generation    INTEGER NOT NULL CHECK (generation > 0),
    is_active     INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    delivered     INTEGER NOT NULL DEFAULT 0,
    last_at_ms    INTEGER,
    created_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Deliveries that were taken in, as long as one that comes again is to be known.
CREATE TABLE outside_delivery (
    trigger_id TEXT    NOT NULL,
    delivery   TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (trigger_id, delivery)
) STRICT, WITHOUT ROWID;
CREATE INDEX outside_delivery_age ON outside_delivery (trigger_id, at_ms);

-- What the addresses of triggers are made with. At most one row.
CREATE TABLE outside_secret (
    row_id INTEGER NOT NULL PRIMARY KEY CHECK (row_id = 1),
    secret BLOB    NOT NULL CHECK (length(secret) = 32)
) STRICT;
