import type { Stuck } from "../api/types";
import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";

/** An agent whose run cannot continue, with the server's reason and hint. */
export function StuckCard({ stuck }: { stuck: Stuck }) {
  return (
    <AttentionCard icon="knot" agentId={stuck.agent_id} headline={`${stuck.agent_id} is stuck`}>
      <p>{toSentence(stuck.message)}</p>
      <p className="quiet">{toSentence(stuck.hint)}</p>
    </AttentionCard>
  );
}
