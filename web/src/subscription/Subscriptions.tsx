import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { pauseSubscription, resumeSubscription, unsubscribe } from "../api/calls";
import { keys } from "../api/keys";
import { subscriptionsQuery } from "../api/queries";
import type { Subscription } from "../api/types";
import { Badge } from "../ui/Badge";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Time } from "../ui/Time";
import { conditions } from "./text";

/** What an agent is woken by when it changes, and the way to put that aside, to take it up again, or to end it. */
export function Subscriptions({ agentId }: { agentId: string }) {
  const list = useQuery(subscriptionsQuery(agentId));
  return (
    <section className="panel" id="subscriptions" aria-labelledby="subscriptions-title">
      <h2 id="subscriptions-title">Subscriptions</h2>
      {list.error && !list.data && (
        <ErrorNotice action="read its subscriptions" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isPending && <Skeleton lines={2} label="Loading its subscriptions" />}
      {list.data?.subscriptions.length === 0 && (
        <p className="quiet">
          No change wakes it. <code>wakeful subscribe {agentId} --on TASK</code> would let one.
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
          There are more: <code>wakeful subscriptions --agent {agentId}</code> lists all.
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
  const verb = one.is_active ? "Pause" : "Resume";
  return (
    <li className="subscription">
      <div className="subscription-head">
        <b>{name}</b>
        {!one.is_active && <Badge tone="quiet">paused</Badge>}
      </div>
      <p>{conditions(one).join(", ")}</p>
      {one.say !== "" && <p className="quiet">“{one.say}”</p>}
      <div className="subscription-foot">
        <span className="quiet">
          made <Time at={one.created_at} />
        </span>
        <button
          type="button"
          className="button small"
          aria-label={`${verb} ${name}`}
          onClick={() => toggling.mutate()}
          disabled={toggling.isPending}
        >
          {verb}
        </button>
        <button type="button" className="button small" aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
          Remove
        </button>
      </div>
      {toggling.error && <ErrorNotice action={`${verb.toLowerCase()} it`} error={toggling.error} />}
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
    <Dialog title={`Remove ${one.subscription_id}`} onClose={onClose}>
      <div className="form">
        <p>
          {one.agent_id} is no longer woken {conditions(one).join(", ")}. What waits already stays. To stop it for a
          while, pause it instead.
        </p>
        {removing.error && <ErrorNotice action="remove it" error={removing.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="button danger"
            onClick={() => removing.mutate()}
            disabled={removing.isPending}
          >
            Remove it
          </button>
        </div>
      </div>
    </Dialog>
  );
}
