import { useQuery } from "@tanstack/react-query";
import { budgetQuery } from "../api/queries";
import type { ParkedReason } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";
import { fitsAnotherDay, parkedHeadline, parkedText } from "./money";
import { LimitActions, ParkedActions } from "./ParkedActions";

interface ParkedCardProps {
  agentId: string;
  prompt?: string;
  /** Links to the run; absent on the run's own page. */
  runKey?: string;
  parked?: ParkedReason;
  /** The server's reason, where the event that has the amounts is out of reach. */
  message?: string;
  level?: 2 | 3;
}

/** A run that waits for budget: which cap, and how it continues. */
export function ParkedCard({ agentId, prompt, runKey, parked, message = "", level }: ParkedCardProps) {
  const budget = useQuery(budgetQuery);
  const isByLimit = parked?.limit_id !== undefined;
  return (
    <AttentionCard
      icon="coin"
      agentId={agentId}
      prompt={prompt}
      headline={isByLimit ? labels.budget.parkedByLimit : parkedHeadline(parked)}
      level={level}
      actions={
        isByLimit ? (
          <LimitActions limitId={parked?.limit_id} until={parked?.until} />
        ) : (
          <ParkedActions
            budget={budget.data}
            agentId={parked?.scope === "agent" ? agentId : undefined}
            canWait={!parked || fitsAnotherDay(parked)}
          />
        )
      }
      runKey={runKey}
    >
      <p>{parked ? parkedText(parked) : toSentence(message)}</p>
    </AttentionCard>
  );
}
