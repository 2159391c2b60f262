import { useQuery } from "@tanstack/react-query";
import { budgetQuery } from "../api/queries";
import type { Parked } from "../api/types";
import { Icon } from "../ui/Icon";
import { parkedText } from "./money";
import { ParkedActions } from "./ParkedActions";

/** Above a run, or an agent, that waits for money: why, and the two ways out. */
export function ParkedBanner({ parked, agentId }: { parked: Parked; agentId: string }) {
  const budget = useQuery(budgetQuery);
  return (
    <section className="notice parked" aria-labelledby="parked-title">
      <Icon name="coin" />
      <div>
        <h2 id="parked-title">It waits: the day&apos;s money is spent</h2>
        <p>{parkedText(parked)} Nothing is lost.</p>
        <ParkedActions budget={budget.data} agentId={parked.scope === "agent" ? agentId : undefined} />
      </div>
    </section>
  );
}
