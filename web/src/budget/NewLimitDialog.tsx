import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setLimit } from "../api/calls";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import type { BudgetResource, SetLimit } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { SelectField, TextField } from "../ui/Field";
import { parseAmount } from "./limit";

/** Daily money is the cap, which has its own dialog. */
const isCap = (resource: string, period: string) => resource === "money" && period === "daily";

/** Sets a limit on an agent, or on all agents together without one. */
export default function NewLimitDialog({ agentId, onClose }: { agentId: string | undefined; onClose: () => void }) {
  const [resource, setResource] = useState<BudgetResource>("tokens");
  const [period, setPeriod] = useState<Period>("daily");
  const [typed, setTyped] = useState("");
  const [isInvalid, setInvalid] = useState(false);
  const client = useQueryClient();
  const saving = useMutation({
    mutationFn: (limit: SetLimit) => setLimit(limit),
    onSuccess: async () => {
      onClose();
      await invalidate(client, [keys.budget(), ...ACTIVITY_KEYS]);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const max = parseAmount(resource, typed);
    setInvalid(max === undefined);
    if (max === undefined) return;
    const whose = agentId === undefined ? { scope: "all" as const } : { scope: "agent" as const, subject: agentId };
    saving.mutate({ ...whose, resource, period, max });
  };
  return (
    <Dialog title={labels.budget.newLimitTitle(agentId)} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        <SelectField
          label={labels.budget.limitedResource}
          value={resource}
          onValue={(value) => setResource(value as BudgetResource)}
          options={Object.entries(labels.budget.resource)}
        />
        <SelectField
          label={labels.budget.period}
          hint={isCap(resource, period) ? labels.budget.isCap : labels.budget.countsFromNow}
          value={period}
          onValue={(value) => setPeriod(value as Period)}
          options={Object.entries(labels.budget.periods)}
        />
        <TextField
          label={labels.budget.newAmount}
          hint={labels.budget.amountForms[resource]}
          error={isInvalid ? labels.budget.invalidAmount : undefined}
          value={typed}
          onValue={setTyped}
        />
        {saving.error && <ErrorNotice action={labels.budget.newLimitAction} error={saving.error} />}
        <div className="form-end">
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

type Period = keyof typeof labels.budget.periods;
