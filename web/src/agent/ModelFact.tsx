import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setModel } from "../api/calls";
import { keys } from "../api/keys";
import { runtimeQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";

/** Which model answers for an agent, whether somebody chose it, and the way to another. */
export function ModelFact({ agent }: { agent: AgentStatus }) {
  const [isChoosing, setChoosing] = useState(false);
  const runtime = useQuery(runtimeQuery);
  return (
    <div>
      <dt>Model</dt>
      <dd className="model-fact">
        <span>
          {agent.model ?? runtime.data?.model.reference ?? "…"}{" "}
          <span className="quiet">{agent.model === undefined ? "(the default)" : "(chosen for it)"}</span>
        </span>
        <button type="button" className="button small" onClick={() => setChoosing(true)} aria-label="Change the model">
          Change
        </button>
        {isChoosing && (
          <ModelDialog agent={agent} fallback={runtime.data?.model.reference} onClose={() => setChoosing(false)} />
        )}
      </dd>
    </div>
  );
}

function ModelDialog({
  agent,
  fallback,
  onClose,
}: {
  agent: AgentStatus;
  fallback: string | undefined;
  onClose: () => void;
}) {
  const [model, setName] = useState(agent.model ?? "");
  const client = useQueryClient();
  const choosing = useMutation({
    mutationFn: (chosen: string | undefined) => setModel(agent.agent_id, chosen),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: keys.agent(agent.agent_id) });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    choosing.mutate(model.trim());
  };
  return (
    <Dialog title={`Model of ${agent.agent_id}`} onClose={onClose}>
      <form onSubmit={submit} className="form">
        <label>
          <span>Model</span>
          <input
            value={model}
            onChange={(event) => setName(event.target.value)}
            required
            autoComplete="off"
            spellCheck={false}
            placeholder={fallback}
            aria-describedby="model-hint"
          />
          <small id="model-hint">By its name, as in the settings. It holds for runs that begin from now on.</small>
        </label>
        {choosing.error && <ErrorNotice action="choose this model" error={choosing.error} />}
        <div className="form-end">
          {agent.model !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => choosing.mutate(undefined)}
              disabled={choosing.isPending}
            >
              Back to the default
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={choosing.isPending}>
            {choosing.isPending ? "Choosing…" : "Choose it"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
