-- Rows that govern are bound to a log of the home from here on: caps, brakes, settings, schedules, what was spent. The
-- rows that are there are bound by the program in this same transaction, because a database cannot hash them.
INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash)
SELECT '~home', host_id || '.' || CAST(incarnation AS TEXT), NULL, 0, 1, zeroblob(32) FROM host;
INSERT INTO event_life (agent_id, first_seq, incarnation)
SELECT agent_id, 1, incarnation FROM agent_head WHERE agent_id = '~home';
