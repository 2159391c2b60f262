-- When a run that waits was laid to rest: where that is a time to come, the clock was set back since.
ALTER TABLE run ADD COLUMN rested_at_ms BIGINT;
-- Of those that rest nobody knows it: they are looked at once, and rest again.
UPDATE run SET rested_at_ms = due_at_ms WHERE status = 'open' AND due_at_ms IS NOT NULL;

-- It says alone who has something to do, also then.
DROP INDEX run_open;
CREATE INDEX run_open ON run (agent_id, status, due_at_ms, run_key, rested_at_ms) WHERE status = 'open';

-- When the agent's newest run began. The latest time of all is not it where the clock was set back.
ALTER TABLE agent_head ADD COLUMN began_at_ms BIGINT;
UPDATE agent_head SET began_at_ms = (SELECT MAX(started_at_ms) FROM run WHERE run.agent_id = agent_head.agent_id);
