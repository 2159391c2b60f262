import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { agentsQuery, budgetQuery } from "../api/queries";
import type { Event } from "../api/types";
import { Limits } from "../budget/Limits";
import { SpendingToday } from "../budget/SpendingToday";
import { labels } from "../labels";
import { DemoNotice } from "../shell/DemoNotice";
import { useTitle } from "../shell/useTitle";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Agents } from "./Agents";
import { parkedAgents } from "./attention";
import { useFeed } from "./feed";
import { isOtherLog, markSeen, newSince, storedLastSeen, storeLastSeen } from "./lastSeen";
import { NeedsAttention } from "./NeedsAttention";
import { SinceLastSeen } from "./SinceLastSeen";
import { summaryText } from "./summary";
import { useAttention } from "./useAttention";

const NO_EVENTS: readonly Event[] = [];

/** The first page: what needs attention, what happened, and what the agents do. */
export function Briefing() {
  const { feed, liveTexts } = useFeed();
  const agents = useQuery(agentsQuery);
  const budget = useQuery(budgetQuery);
  const [stored, setLastSeen] = useState(storedLastSeen);

  const lastSeen = stored && agents.data && isOtherLog(stored, agents.data) ? undefined : stored;
  const events = feed.data?.events ?? NO_EVENTS;
  const { items, more, dismiss, dismissError, isComplete, failed } = useAttention();
  const parked = parkedAgents(items);
  useTitle(labels.briefing.title(items.length));

  const markAllSeen = () => {
    if (!feed.data) return;
    const next = markSeen(lastSeen, feed.data.events, feed.data.cursor, new Date());
    storeLastSeen(next);
    setLastSeen(next);
  };

  const error = feed.error ?? agents.error;
  const isBroken = error && !(feed.data && agents.data);
  const isKnown = isComplete && feed.data !== undefined;
  return (
    <>
      <div className="page-head">
        <p className="eyebrow">{today(new Date())}</p>
        <h1 tabIndex={-1}>{labels.common.briefing}</h1>
        <p className="lede">
          {isBroken || failed ? labels.briefing.partial : summaryText(isKnown ? agents.data : undefined, items)}
        </p>
      </div>
      <DemoNotice />
      {isBroken && (
        <ErrorNotice
          action={labels.briefing.loadAction}
          error={error}
          onRetry={() => void Promise.all([feed.refetch(), agents.refetch()])}
        />
      )}
      <div className="columns">
        <div className="column">
          {failed && (
            <ErrorNotice
              action={labels.attention.loadAction}
              error={failed.error}
              onRetry={() => void failed.refetch()}
            />
          )}
          {dismissError && <ErrorNotice action={labels.attention.dismissAction} error={dismissError} />}
          {isKnown || items.length > 0 ? (
            <NeedsAttention items={items} more={more} onDismiss={dismiss} />
          ) : (
            !failed && !isBroken && <Skeleton lines={3} label={labels.attention.loading} />
          )}
          {feed.data && (
            <SinceLastSeen lastSeen={lastSeen} events={newSince(lastSeen, events)} onMarkSeen={markAllSeen} />
          )}
        </div>
        <div className="column side">
          {budget.data && <SpendingToday budget={budget.data} />}
          <Limits />
          {budget.error && !budget.data && (
            <ErrorNotice
              action={labels.budget.spentAction}
              error={budget.error}
              onRetry={() => void budget.refetch()}
            />
          )}
          {agents.data ? (
            <Agents agents={agents.data} budget={budget.data} parked={parked} liveTexts={liveTexts} />
          ) : (
            !agents.error && <Skeleton lines={6} label={labels.agent.loadingList} />
          )}
        </div>
      </div>
    </>
  );
}

function today(now: Date): string {
  return now.toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long" });
}
