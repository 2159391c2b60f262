import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { pauseSubscription, resumeSubscription, unsubscribe } from "../api/calls";
import { keys } from "../api/keys";
import { subscriptionsQuery } from "../api/queries";
import type { Subscription } from "../api/types";
import { labels } from "../labels";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";
import { conditions } from "./text";

const SubscriptionForm = lazy(() => import("./SubscriptionForm"));

/** The subscriptions that wake an agent, with buttons to pause, resume and remove each. */
export function Subscriptions({ agentId }: { agentId: string }) {
  const list = useQuery(subscriptionsQuery(agentId));
  const [isAdding, setAdding] = useState(false);
  return (
    <section className="panel" id="subscriptions" aria-labelledby="subscriptions-title">
      <header className="panel-head">
        <h2 id="subscriptions-title">{labels.subscription.list}</h2>
        <button type="button" className="button small" onClick={() => setAdding(true)}>
          <Icon name="plus" /> {labels.subscription.add}
        </button>
      </header>
      {list.error && !list.data && (
        <ErrorNotice action={labels.subscription.listAction} error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <Skeleton lines={2} label={labels.subscription.loading} />}
      {list.data?.subscriptions.length === 0 && <p className="quiet">{labels.subscription.none(agentId)}</p>}
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
      <Suspense>{isAdding && <SubscriptionForm agentId={agentId} onClose={() => setAdding(false)} />}</Suspense>
    </section>
  );
}

function SubscriptionRow({ one }: { one: Subscription }) {
  const [isRemoving, setRemoving] = useState(false);
  const client = useQueryClient();
  const name = one.subscription_id;
  const refresh = () => client.invalidateQueries({ queryKey: keys.agent(one.agent_id) });
  const toggling = useMutation({
    mutationFn: () => (one.is_active ? pauseSubscription(name) : resumeSubscription(name)),
    onSuccess: refresh,
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
      {isRemoving && (
        <ConfirmDialog
          title={labels.subscription.removeTitle(name)}
          hint={labels.subscription.removeHint(one.agent_id, conditions(one).join(", "))}
          button={labels.subscription.removeButton}
          action={labels.subscription.removeAction}
          onConfirm={() => unsubscribe(name).then(refresh)}
          onClose={() => setRemoving(false)}
        />
      )}
    </li>
  );
}
