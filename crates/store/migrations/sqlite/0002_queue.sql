-- Messages wait here for their turn, in the order of the events that announced them: an agent answers one after
-- the other, and a message must outlive a restart before its run exists. A row goes when its run begins.
CREATE TABLE queue (
    agent_id TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    run_key  BLOB    NOT NULL UNIQUE CHECK (length(run_key) = 32),
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;

-- How many wait, beside the sequence that moves in the same transaction: counting rows would cost more the longer
-- the queue is.
ALTER TABLE agent_head ADD COLUMN queued INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0);

-- A paused agent keeps what comes and begins nothing.
ALTER TABLE agent ADD COLUMN control TEXT NOT NULL DEFAULT 'running' CHECK (control IN ('running', 'paused'));

-- What a message says about how its run is to be carried out, as JSON.
ALTER TABLE message ADD COLUMN wishes TEXT NOT NULL DEFAULT '{}';

-- Who has something to do is asked after every turn.
CREATE INDEX agent_head_queued ON agent_head (agent_id) WHERE queued > 0;
