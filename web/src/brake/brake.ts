// Which brake holds whom.
import type { BrakeList } from "../api/types";

export type Brake = BrakeList["brakes"][number];

/** The brake of one agent, or that of all. */
export function brakeOf(list: BrakeList | undefined, agentId?: string): Brake | undefined {
  return list?.brakes.find((brake) => brake.agent_id === agentId);
}
