import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { setModel } from "../api/calls";
import { keys } from "../api/keys";
import { runtimeQuery } from "../api/queries";
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { ModelOptions } from "./ModelOptions";

/** The model of an agent, whether it is the default, and a button to change it. */
export function ModelFact({ agent }: { agent: AgentStatus }) {
  const [isChoosing, setChoosing] = useState(false);
  const runtime = useQuery(runtimeQuery);
  return (
    <div>
      <dt>{labels.agent.model}</dt>
      <dd className="model-fact">
        <span>
          {agent.model ?? runtime.data?.model.reference ?? "…"}{" "}
          <span className="quiet">
            {agent.model === undefined ? labels.agent.modelDefault : labels.agent.modelChosen}
          </span>
        </span>
        <button
          type="button"
          className="button small"
          onClick={() => setChoosing(true)}
          aria-label={labels.agent.changeModel}
        >
          {labels.agent.change}
        </button>
        {isChoosing && (
          <ModelDialog agent={agent} fallback={runtime.data?.model.reference} onClose={() => setChoosing(false)} />
        )}
      </dd>
    </div>
  );
}

/** Sets the model of an agent. */
export function ModelDialog({
  agent,
  fallback,
  onClose,
}: {
  agent: AgentStatus;
  fallback: string | undefined;
  onClose: () => void;
}) {
  const [model, setName] = useState(agent.model ?? "");
  const modelsId = useId();
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
    <Dialog title={labels.agent.modelOf(agent.agent_id)} onClose={onClose}>
      <form onSubmit={submit} className="form">
        <label>
          <span>{labels.agent.model}</span>
          <input
            value={model}
            onChange={(event) => setName(event.target.value)}
            required
            autoComplete="off"
            spellCheck={false}
            placeholder={fallback}
            list={modelsId}
            aria-describedby="model-hint"
          />
          <ModelOptions id={modelsId} />
          <small id="model-hint">{labels.agent.modelHint}</small>
        </label>
        {choosing.error && <ErrorNotice action={labels.agent.modelAction} error={choosing.error} />}
        <div className="form-end">
          {agent.model !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => choosing.mutate(undefined)}
              disabled={choosing.isPending}
            >
              {labels.common.useDefault}
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={choosing.isPending}>
            {choosing.isPending ? labels.agent.choosing : labels.agent.choose}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
