-- Messages wait here for their turn, in the order of the events that announced them: an agent answers one after
-- the other, and a message must outlive a restart before its run exists. A row goes when its run begins.
CREATE TABLE queue (
    agent_id TEXT   COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,
    run_key  BYTEA  NOT NULL UNIQUE CHECK (length(run_key) = 32),
    PRIMARY KEY (agent_id, seq)
);

-- How many wait, beside the sequence that moves in the same transaction: counting rows would cost more the longer
-- the queue is.
ALTER TABLE agent_head ADD COLUMN queued BIGINT NOT NULL DEFAULT 0 CHECK (queued >= 0);

-- A paused agent keeps what comes and begins nothing.
ALTER TABLE agent ADD COLUMN control TEXT COLLATE "C" NOT NULL DEFAULT 'running'
    CHECK (control IN ('running', 'paused'));

-- What a message says about how its run is to be carried out, as JSON.
ALTER TABLE message ADD COLUMN wishes TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- Who has something to do is asked after every turn.
CREATE INDEX agent_head_queued ON agent_head (agent_id) WHERE queued > 0;
