import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { pauseSubscription, resumeSubscription, unsubscribe } from "../api/calls";
import { keys } from "../api/keys";
import { subscriptionsQuery } from "../api/queries";
import type { Subscription } from "../api/types";
import { labels } from "../labels";
import { Badge } from "../ui/Badge";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";
import { conditions } from "./text";

/** The subscriptions that wake an agent, with buttons to pause, resume and remove each. */
export function Subscriptions({ agentId }: { agentId: string }) {
  const list = useQuery(subscriptionsQuery(agentId));
  return (
    <section className="panel" id="subscriptions" aria-labelledby="subscriptions-title">
      <h2 id="subscriptions-title">{labels.subscription.list}</h2>
      {list.error && !list.data && (
        <ErrorNotice action={labels.subscription.listAction} error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <Skeleton lines={2} label={labels.subscription.loading} />}
      {list.data?.subscriptions.length === 0 && (
        <p className="quiet">
          {labels.subscription.none} <code>{labels.subscription.noneCommand(agentId)}</code>
        </p>
      )}
      {list.data && list.data.subscriptions.length > 0 && (
        <ul className="subscriptions">
          {list.data.subscriptions.map((one) => (
            <SubscriptionRow key={one.subscription_id} one={one} />
          ))}
        </ul>
      )}
      {list.data?.next_after && (
        <p className="quiet">
          {labels.subscription.more} <code>{labels.subscription.moreCommand(agentId)}</code>
        </p>
      )}
    </section>
  );
}

function SubscriptionRow({ one }: { one: Subscription }) {
  const [isRemoving, setRemoving] = useState(false);
  const client = useQueryClient();
  const name = one.subscription_id;
  const toggling = useMutation({
    mutationFn: () => (one.is_active ? pauseSubscription(name) : resumeSubscription(name)),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(one.agent_id) }),
  });
  const verb = one.is_active ? labels.subscription.pause : labels.subscription.resume;
  return (
    <li className="subscription">
      <div className="subscription-head">
        <b>{name}</b>
        {!one.is_active && <Badge tone="quiet">{labels.subscription.paused}</Badge>}
      </div>
      <p>{conditions(one).join(", ")}</p>
      {one.message !== "" && <p className="quiet">{labels.common.quote(one.message)}</p>}
      <div className="subscription-foot">
        <span className="quiet">
          {labels.subscription.created} <Time at={one.created_at} />
        </span>
        <button
          type="button"
          className="button small"
          aria-label={labels.subscription.with(verb, name)}
          onClick={() => toggling.mutate()}
          disabled={toggling.isPending}
        >
          {verb}
        </button>
        <button
          type="button"
          className="button small"
          aria-label={labels.subscription.with(labels.subscription.remove, name)}
          onClick={() => setRemoving(true)}
        >
          {labels.subscription.remove}
        </button>
      </div>
      {toggling.error && <ErrorNotice action={labels.subscription.toggleAction(verb)} error={toggling.error} />}
      {isRemoving && <RemoveDialog one={one} onClose={() => setRemoving(false)} />}
    </li>
  );
}

function RemoveDialog({ one, onClose }: { one: Subscription; onClose: () => void }) {
  const client = useQueryClient();
  const removing = useMutation({
    mutationFn: () => unsubscribe(one.subscription_id),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: keys.agent(one.agent_id) });
    },
  });
  return (
    <Dialog title={labels.subscription.removeTitle(one.subscription_id)} onClose={onClose}>
      <div className="form">
        <p>{labels.subscription.removeHint(one.agent_id, conditions(one).join(", "))}</p>
        {removing.error && <ErrorNotice action={labels.subscription.removeAction} error={removing.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button
            type="button"
            className="button danger"
            onClick={() => removing.mutate()}
            disabled={removing.isPending}
          >
            {labels.subscription.removeButton}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
