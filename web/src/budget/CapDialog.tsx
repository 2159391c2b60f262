import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setCap } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import { budgetQuery } from "../api/queries";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { capError } from "./money";

interface CapDialogProps {
  /** The agent of the cap; all agents together when absent. */
  agentId?: string;
  /** The current cap, if there is one. */
  capUsd?: string;
  /** Whether a person set it, so that it can be removed. */
  isSet: boolean;
  onClose: () => void;
}

/** Sets a daily cap. It applies from the next request on, and parked runs are checked against it at once. */
export function CapDialog({ agentId, capUsd, isSet, onClose }: CapDialogProps) {
  const [amount, setAmount] = useState(capUsd ?? "");
  const [error, setError] = useState<string>();
  const client = useQueryClient();
  const setting = useMutation({
    mutationFn: (dailyUsd: string | undefined) => setCap(agentId, dailyUsd),
    onSuccess: async (budget) => {
      client.setQueryData(budgetQuery.queryKey, budget);
      onClose();
      await invalidate(client, ACTIVITY_KEYS);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = capError(amount);
    setError(found);
    if (!found) setting.mutate(amount.trim());
  };
  return (
    <Dialog title={labels.budget.capTitle(agentId)} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        <label>
          <span>{labels.budget.dollarsPerDay}</span>
          <input
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
            inputMode="decimal"
            autoComplete="off"
            spellCheck={false}
            placeholder="5.00"
            aria-invalid={error !== undefined}
            aria-describedby={error ? "cap-wrong cap-hint" : "cap-hint"}
          />
          {error && (
            <small id="cap-wrong" className="wrong" role="alert">
              {error}
            </small>
          )}
          <small id="cap-hint">{labels.budget.capHint(agentId)}</small>
        </label>
        {setting.error && <ErrorNotice action={labels.budget.setCapAction} error={setting.error} />}
        <div className="form-end">
          {isSet && (
            <button
              type="button"
              className="button"
              onClick={() => setting.mutate(undefined)}
              disabled={setting.isPending}
            >
              {agentId ? labels.budget.removeCap : labels.common.useDefault}
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={setting.isPending}>
            {setting.isPending ? labels.budget.setting : labels.budget.setCap}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
