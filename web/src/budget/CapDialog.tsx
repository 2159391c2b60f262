import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setCap } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import { budgetQuery } from "../api/queries";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { capError } from "./money";

interface CapDialogProps {
  /** Whose cap; of all agents together when absent. */
  agentId?: string;
  /** What holds now, if anything. */
  capUsd?: string;
  /** Whether a person set it, so that it can be taken away. */
  isSet: boolean;
  onClose: () => void;
}

/** What may be spent in a day. It holds from the next request on, and runs that wait for money are looked at again. */
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
    <Dialog title={agentId ? `Daily cap of ${agentId}` : "Daily cap"} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        <label>
          <span>Dollars a day</span>
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
          <small id="cap-hint">
            {agentId ? `What ${agentId} may spend` : "What all agents together may spend"} from midnight to midnight,
            UTC. No request leaves that could cost more than is left.
          </small>
        </label>
        {setting.error && <ErrorNotice action="set the cap" error={setting.error} />}
        <div className="form-end">
          {isSet && (
            <button
              type="button"
              className="button"
              onClick={() => setting.mutate(undefined)}
              disabled={setting.isPending}
            >
              {agentId ? "Take it away" : "Back to the default"}
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={setting.isPending}>
            {setting.isPending ? "Setting…" : "Set the cap"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
