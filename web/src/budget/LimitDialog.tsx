import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { changeLimit, clearLimit } from "../api/calls";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import type { BudgetLimit } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { limitName, parseAmount } from "./limit";

/** Changes or removes a limit. */
export default function LimitDialog({ limit, onClose }: { limit: BudgetLimit; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [isInvalid, setInvalid] = useState(false);
  const client = useQueryClient();
  const saving = useMutation({
    mutationFn: (max: number | undefined) =>
      max === undefined ? clearLimit(limit.limit_id) : changeLimit(limit.limit_id, max),
    onSuccess: async () => {
      onClose();
      await invalidate(client, [keys.budget(), ...ACTIVITY_KEYS]);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const max = parseAmount(limit.resource, typed);
    setInvalid(max === undefined);
    if (max !== undefined) saving.mutate(max);
  };
  return (
    <Dialog title={labels.budget.changeLimitTitle(limitName(limit))} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        <label>
          <span>{labels.budget.newAmount}</span>
          <input
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            aria-invalid={isInvalid}
            aria-describedby={isInvalid ? "limit-wrong limit-hint" : "limit-hint"}
          />
          {isInvalid && (
            <small id="limit-wrong" className="wrong" role="alert">
              {labels.budget.invalidAmount}
            </small>
          )}
          <small id="limit-hint">{labels.budget.amountForms[limit.resource]}</small>
        </label>
        {saving.error && <ErrorNotice action={labels.budget.changeLimitAction} error={saving.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={() => saving.mutate(undefined)} disabled={saving.isPending}>
            {labels.budget.removeLimit}
          </button>
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={saving.isPending}>
            {saving.isPending ? labels.budget.setting : labels.budget.saveLimit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
