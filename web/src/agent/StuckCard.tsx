import type { StuckAgent } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { AttentionCard } from "../ui/AttentionCard";
import { InlineText } from "../ui/InlineText";
import { agentName } from "./name";

/** An agent whose run cannot continue, with the server's reason and hint. */
export function StuckCard({ stuck }: { stuck: StuckAgent }) {
  return (
    <AttentionCard icon="knot" agentId={stuck.agent_id} headline={labels.agent.isStuck(agentName(stuck.agent_id))}>
      <p>
        <InlineText text={toSentence(stuck.message)} />
      </p>
      <p className="quiet">
        <InlineText text={toSentence(stuck.hint)} />
      </p>
    </AttentionCard>
  );
}
