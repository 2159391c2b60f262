-- Signed heads of the log. A chain proves that nothing within it was changed; a head that a device has signed proves
-- that nothing was cut off or written anew before it. They are never changed and never taken away: one that was signed
-- long ago is as good as a new one, and closer to the run that somebody asks about.
CREATE TABLE signed_head (
    agent_id     TEXT    NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq > 0),
    public_key   BLOB    NOT NULL CHECK (length(public_key) = 32),
    chain_hash   BLOB    NOT NULL CHECK (length(chain_hash) = 32),
    signed_at_ms INTEGER NOT NULL,
    signature    BLOB    NOT NULL CHECK (length(signature) = 64),
    PRIMARY KEY (agent_id, seq, public_key)
) STRICT, WITHOUT ROWID;

-- From which event on which life of the host has written a log. The hash of an event covers it, and a column of every
-- event would say the same a million times.
CREATE TABLE event_life (
    agent_id    TEXT    NOT NULL,
    first_seq   INTEGER NOT NULL CHECK (first_seq > 0),
    incarnation TEXT    NOT NULL,
    PRIMARY KEY (agent_id, first_seq)
) STRICT, WITHOUT ROWID;

-- Until now no host had a second life.
INSERT INTO event_life (agent_id, first_seq, incarnation) SELECT agent_id, 1, incarnation FROM agent_head;
