import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { createSubscription } from "../api/calls";
import { keys } from "../api/keys";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { fieldErrors } from "../ui/fieldErrors";
import { useDraft } from "../ui/useDraft";
import { createSubscriptionOf, EMPTY_SUBSCRIPTION, FIELD_NAMES, subscriptionErrors } from "./draft";
import { SubscriptionFields } from "./SubscriptionFields";
import { SubscriptionWarnings } from "./SubscriptionWarnings";

/** Adds a subscription to an agent. */
export default function SubscriptionForm({ agentId, onClose }: { agentId: string; onClose: () => void }) {
  const client = useQueryClient();
  const { values, change, discard } = useDraft(`subscription.${agentId}`, EMPTY_SUBSCRIPTION);
  const [isChecked, setChecked] = useState(false);
  const adding = useMutation({
    mutationFn: () => createSubscription(createSubscriptionOf(agentId, values)),
    onSuccess: async ({ warnings = [] }) => {
      discard();
      if (warnings.length === 0) onClose();
      await client.invalidateQueries({ queryKey: keys.agent(agentId) });
    },
  });
  const found = subscriptionErrors(values);
  const refused = fieldErrors(adding.error, FIELD_NAMES);
  const { subscription_id: name, warnings = [] } = adding.data ?? {};
  if (name !== undefined && warnings.length > 0) {
    return (
      <Dialog title={labels.subscription.add} onClose={onClose}>
        <SubscriptionWarnings name={name} warnings={warnings} />
        <div className="form-end">
          <button type="button" className="button primary" onClick={onClose}>
            {labels.common.close}
          </button>
        </div>
      </Dialog>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (Object.keys(found).length === 0) adding.mutate();
  };
  return (
    <Dialog title={labels.subscription.add} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <SubscriptionFields
          values={values}
          errors={{ ...refused.byField, ...(isChecked ? found : {}) }}
          onChange={change}
        />
        {refused.other !== undefined && <ErrorNotice action={labels.subscription.addAction} error={refused.other} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={adding.isPending}>
            {adding.isPending ? labels.common.saving : labels.subscription.add}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
