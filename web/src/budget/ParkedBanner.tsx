import { useQuery } from "@tanstack/react-query";
import { budgetQuery } from "../api/queries";
import type { Parked } from "../api/types";
import { Glyph } from "../ui/Glyph";
import { parkedWords } from "./money";
import { ParkedWays } from "./ParkedWays";

/** Above a run, or an agent, that waits for money: why, and the two ways out. */
export function ParkedBanner({ parked, agentId }: { parked: Parked; agentId: string }) {
  const budget = useQuery(budgetQuery);
  return (
    <section className="notice parked" aria-labelledby="parked-title">
      <Glyph name="coin" />
      <div>
        <h2 id="parked-title">It waits: the day&apos;s money is spent</h2>
        <p>{parkedWords(parked)} Nothing is lost.</p>
        <ParkedWays budget={budget.data} agentId={parked.scope === "agent" ? agentId : undefined} />
      </div>
    </section>
  );
}
