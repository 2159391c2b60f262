import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { CreateAgent } from "../agent/CreateAgent";
import { agentsQuery, budgetQuery, runtimeQuery } from "../api/queries";
import type { Event } from "../api/types";
import { SpendingToday } from "../budget/SpendingToday";
import { DemoNotice } from "../shell/DemoNotice";
import { useTitle } from "../shell/useTitle";
import { pluralize } from "../text/number";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { Agents } from "./Agents";
import { useFeed } from "./feed";
import { isOtherLog, markSeen, newSince, storedLastSeen, storeLastSeen } from "./lastSeen";
import { NeedsAttention } from "./NeedsAttention";
import { SinceLastSeen } from "./SinceLastSeen";
import { useAttention } from "./useAttention";

const NO_EVENTS: readonly Event[] = [];

/** The first page: what needs you, what happened, who is awake. */
export function Briefing() {
  const { feed, liveTexts } = useFeed();
  const agents = useQuery(agentsQuery);
  const runtime = useQuery(runtimeQuery);
  const budget = useQuery(budgetQuery);
  const [stored, setLastSeen] = useState(storedLastSeen);
  const [isCreating, setCreating] = useState(false);

  const lastSeen = stored && agents.data && isOtherLog(stored, agents.data) ? undefined : stored;
  const events = feed.data?.events ?? NO_EVENTS;
  const { items, dismiss, isComplete, failed } = useAttention(events);
  const parked = new Set(items.flatMap((item) => (item.kind === "parked" ? [item.agentId] : [])));
  useTitle(items.length > 0 ? `(${items.length}) Briefing` : "Briefing");

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
        <h1 tabIndex={-1}>{greeting(new Date())}</h1>
        <p className="lede">
          {isBroken || failed ? "Not everything could be read." : lede(isKnown ? agents.data : undefined, items.length)}
        </p>
      </div>
      {runtime.data?.model.is_demo && <DemoNotice />}
      {isBroken && (
        <ErrorNotice
          action="read the briefing"
          error={error}
          onRetry={() => void Promise.all([feed.refetch(), agents.refetch()])}
        />
      )}
      <div className="columns">
        <div className="column">
          {failed && (
            <ErrorNotice action="read what needs you" error={failed.error} onRetry={() => void failed.refetch()} />
          )}
          {isKnown || items.length > 0 ? (
            <NeedsAttention items={items} onDismiss={dismiss} />
          ) : (
            !failed && !isBroken && <Skeleton lines={3} label="Loading what needs you" />
          )}
          {feed.data && (
            <SinceLastSeen lastSeen={lastSeen} events={newSince(lastSeen, events)} onMarkSeen={markAllSeen} />
          )}
        </div>
        <div className="column side">
          {budget.data && <SpendingToday budget={budget.data} />}
          {budget.error && !budget.data && (
            <ErrorNotice action="read what was spent" error={budget.error} onRetry={() => void budget.refetch()} />
          )}
          {agents.data ? (
            <Agents
              agents={agents.data}
              budget={budget.data}
              parked={parked}
              liveTexts={liveTexts}
              onCreate={() => setCreating(true)}
            />
          ) : (
            !agents.error && <Skeleton lines={6} label="Loading agents" />
          )}
        </div>
      </div>
      {isCreating && <CreateAgent onClose={() => setCreating(false)} />}
    </>
  );
}

function greeting(now: Date): string {
  const hour = now.getHours();
  if (hour < 5) return "Up late";
  if (hour < 12) return "Good morning";
  return hour < 18 ? "Good afternoon" : "Good evening";
}

function today(now: Date): string {
  return now.toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long" });
}

function lede(agents: readonly { activity: string }[] | undefined, waiting: number): string {
  if (!agents) return "One moment.";
  if (agents.length === 0) return "There is no agent here yet.";
  const busy = agents.filter((agent) => agent.activity === "working" || agent.activity === "queued").length;
  const stuck = agents.filter((agent) => agent.activity === "stuck").length;
  const held = agents.filter((agent) => agent.activity === "waiting_on_human" || agent.activity === "waiting").length;
  const asleep = agents.length === 1 ? "Your agent sleeps" : "All agents sleep";
  const idle =
    stuck > 0 ? `${pluralize(stuck, "agent")} stuck` : held > 0 ? `${pluralize(held, "agent")} waiting` : asleep;
  const activity = busy > 0 ? `${pluralize(busy, "agent")} at work` : idle;
  return `${activity}; ${waiting === 0 ? "nothing needs you" : `${pluralize(waiting, "thing")} ${waiting === 1 ? "needs" : "need"} you`}.`;
}
