-- A run may start one of another agent. Its message names the run that sent it, the action by which it did, and how many
-- runs stand above the one it asks for.
ALTER TABLE message ADD COLUMN parent_run BYTEA CHECK (octet_length(parent_run) = 32);
ALTER TABLE message ADD COLUMN parent_agent TEXT COLLATE "C";
ALTER TABLE message ADD COLUMN parent_operation BYTEA CHECK (octet_length(parent_operation) = 32);
ALTER TABLE message ADD COLUMN depth BIGINT NOT NULL DEFAULT 0 CHECK (depth >= 0);

-- The runs that one started. Nearly no message was sent by a run.
CREATE INDEX message_of_parent ON message (parent_run, run_key) WHERE parent_run IS NOT NULL;
