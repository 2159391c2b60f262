import { useQuery } from "@tanstack/react-query";
import { budgetQuery } from "../api/queries";
import type { ParkedReason } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";
import { parkedText } from "./money";
import { ParkedActions } from "./ParkedActions";

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

/** A run that waits because the daily cap is reached: which cap, and the two ways to continue. */
export function ParkedCard({ agentId, prompt, runKey, parked, message = "", level }: ParkedCardProps) {
  const budget = useQuery(budgetQuery);
  return (
    <AttentionCard
      icon="coin"
      agentId={agentId}
      prompt={prompt}
      headline={labels.budget.parked}
      level={level}
      actions={<ParkedActions budget={budget.data} agentId={parked?.scope === "agent" ? agentId : undefined} />}
      runKey={runKey}
    >
      <p>{parked ? parkedText(parked) : toSentence(message)}</p>
    </AttentionCard>
  );
}
