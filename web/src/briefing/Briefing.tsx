import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { CreateAgent } from "../agent/CreateAgent";
import { agentsQuery, budgetQuery, runtimeQuery } from "../api/queries";
import type { Event } from "../api/types";
import { SpendingToday } from "../budget/SpendingToday";
import { DemoNotice } from "../shell/DemoNotice";
import { useTitle } from "../shell/useTitle";
import { counted } from "../text/number";
import { Skeleton } from "../ui/Skeleton";
import { Trouble } from "../ui/Trouble";
import { Agents } from "./Agents";
import { useFeed } from "./feed";
import { isForeign, lookAt, since, storedLook, storeLook } from "./look";
import { NeedsYou } from "./NeedsYou";
import { SinceLook } from "./SinceLook";
import { useNeeds } from "./useNeeds";

const NO_EVENTS: readonly Event[] = [];

/** The first page: what needs you, what happened, who is awake. */
export function Briefing() {
  const { feed, speech } = useFeed();
  const agents = useQuery(agentsQuery);
  const runtime = useQuery(runtimeQuery);
  const budget = useQuery(budgetQuery);
  const [storedAt, setLook] = useState(storedLook);
  const [isCreating, setCreating] = useState(false);

  const look = storedAt && agents.data && isForeign(storedAt, agents.data) ? undefined : storedAt;
  const events = feed.data?.events ?? NO_EVENTS;
  const { waiting, handle, isComplete, failed } = useNeeds(events);
  const parked = new Set(waiting.flatMap((need) => (need.kind === "parked" ? [need.agentId] : [])));
  useTitle(waiting.length > 0 ? `(${waiting.length}) Briefing` : "Briefing");

  const markSeen = () => {
    if (!feed.data) return;
    const next = lookAt(look, feed.data.events, feed.data.cursor, new Date());
    storeLook(next);
    setLook(next);
  };

  const thrown = feed.error ?? agents.error;
  const isBroken = thrown && !(feed.data && agents.data);
  const isKnown = isComplete && feed.data !== undefined;
  return (
    <>
      <div className="page-head">
        <p className="eyebrow">{today(new Date())}</p>
        <h1 tabIndex={-1}>{greeting(new Date())}</h1>
        <p className="lede">
          {isBroken || failed
            ? "Not everything could be read."
            : lede(isKnown ? agents.data : undefined, waiting.length)}
        </p>
      </div>
      {runtime.data?.model.is_demo && <DemoNotice />}
      {isBroken && (
        <Trouble
          doing="read the briefing"
          thrown={thrown}
          onRetry={() => void Promise.all([feed.refetch(), agents.refetch()])}
        />
      )}
      <div className="columns">
        <div className="column">
          {failed && (
            <Trouble doing="read what needs you" thrown={failed.error} onRetry={() => void failed.refetch()} />
          )}
          {isKnown || waiting.length > 0 ? (
            <NeedsYou needs={waiting} budget={budget.data} onHandled={handle} />
          ) : (
            !failed && !isBroken && <Skeleton lines={3} label="Loading what needs you" />
          )}
          {feed.data && <SinceLook look={look} events={since(look, events)} onSeen={markSeen} />}
        </div>
        <div className="column side">
          {budget.data && <SpendingToday budget={budget.data} />}
          {budget.error && !budget.data && (
            <Trouble doing="read what was spent" thrown={budget.error} onRetry={() => void budget.refetch()} />
          )}
          {agents.data ? (
            <Agents
              agents={agents.data}
              budget={budget.data}
              parked={parked}
              speech={speech}
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
  const still =
    stuck > 0 ? `${counted(stuck, "agent")} stuck` : held > 0 ? `${counted(held, "agent")} waiting` : asleep;
  const who = busy > 0 ? `${counted(busy, "agent")} at work` : still;
  return `${who}; ${waiting === 0 ? "nothing needs you" : `${counted(waiting, "thing")} ${waiting === 1 ? "needs" : "need"} you`}.`;
}
