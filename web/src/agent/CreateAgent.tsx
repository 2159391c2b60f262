import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { createAgent } from "../api/calls";
import { agentsQuery } from "../api/queries";
import { labels } from "../labels";
import { agentPath, navigate } from "../shell/router";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";

/** The pattern of the API contract, so that the form reports a wrong name before it is sent. */
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
    <Dialog title={labels.agent.new} onClose={onClose}>
      <form onSubmit={submit} className="form">
        <label>
          <span>{labels.agent.name}</span>
          <input
            value={name}
            onChange={(event) => setName(event.target.value)}
            pattern={NAME}
            maxLength={64}
            required
            autoComplete="off"
            spellCheck={false}
            placeholder={labels.agent.nameExample}
            aria-describedby="name-hint"
          />
          <small id="name-hint">{labels.agent.nameHint}</small>
        </label>
        <label>
          <span>
            {labels.agent.workspace} <em className="quiet">{labels.agent.optional}</em>
          </span>
          <input
            value={workspace}
            onChange={(event) => setWorkspace(event.target.value)}
            maxLength={4096}
            autoComplete="off"
            spellCheck={false}
            placeholder={labels.agent.workspaceExample}
            aria-describedby="workspace-hint"
          />
          <small id="workspace-hint">{labels.agent.workspaceHint}</small>
        </label>
        {creating.error && <ErrorNotice action={labels.agent.createAction} error={creating.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={creating.isPending}>
            {creating.isPending ? labels.agent.creating : labels.agent.create}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
