import { useQuery } from "@tanstack/react-query";
import { NeedsAgent } from "../agent/NeedsAgent";
import { agentsQuery } from "../api/queries";
import { labels } from "../labels";
import { Listing } from "../ui/Listing";
import { TriggerRow } from "./TriggerRow";

/** The external trigger of each agent. */
export default function TriggersPage() {
  const agents = useQuery(agentsQuery);
  return (
    <>
      <p className="lede">{labels.trigger.lede}</p>
      <Listing
        list={agents}
        action={labels.agent.listAction}
        loading={labels.agent.loadingList}
        icon="send"
        none={labels.trigger.none}
        noneHint={<NeedsAgent text={labels.trigger.needsAgent} />}
      >
        {(entries) => (
          <ul className="entries">
            {entries.map((agent) => (
              <TriggerRow key={agent.agent_id} agentId={agent.agent_id} />
            ))}
          </ul>
        )}
      </Listing>
    </>
  );
}
