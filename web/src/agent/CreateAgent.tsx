import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { createAgent } from "../api/calls";
import { agentsQuery } from "../api/queries";
import { agentPath, navigate } from "../shell/router";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";

/** The contract's pattern, so that a wrong name is told before it is sent. */
const NAME = "[a-z0-9][a-z0-9_\\-]*";

export function CreateAgent({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [workspace, setWorkspace] = useState("");
  const client = useQueryClient();
  const creating = useMutation({
    mutationFn: () => createAgent({ agent_id: name, workspace: workspace.trim() || undefined, visibility: "public" }),
    onSuccess: async (agent) => {
      await client.invalidateQueries({ queryKey: agentsQuery.queryKey });
      onClose();
      navigate(agentPath(agent.agent_id));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creating.mutate();
  };
  return (
    <Dialog title="New agent" onClose={onClose}>
      <form onSubmit={submit} className="form">
        <label>
          <span>Name</span>
          <input
            value={name}
            onChange={(event) => setName(event.target.value)}
            pattern={NAME}
            maxLength={64}
            required
            autoComplete="off"
            spellCheck={false}
            placeholder="gardener"
            aria-describedby="name-hint"
          />
          <small id="name-hint">Small letters, digits, - and _. It is how you and the logs call it.</small>
        </label>
        <label>
          <span>
            Workspace <em className="quiet">optional</em>
          </span>
          <input
            value={workspace}
            onChange={(event) => setWorkspace(event.target.value)}
            maxLength={4096}
            autoComplete="off"
            spellCheck={false}
            placeholder="/home/you/garden"
            aria-describedby="workspace-hint"
          />
          <small id="workspace-hint">
            The only folder that its commands may write in. Empty: the daemon&apos;s own.
          </small>
        </label>
        {creating.error && <ErrorNotice action="create the agent" error={creating.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={creating.isPending}>
            {creating.isPending ? "Creating…" : "Create agent"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
