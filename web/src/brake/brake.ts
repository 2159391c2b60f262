// Finds the brake of an agent.
import type { BrakeList } from "../api/types";

export type Brake = BrakeList["brakes"][number];

/** The brake of one agent; without an id, the brake of all agents. */
export function brakeOf(list: BrakeList | undefined, agentId?: string): Brake | undefined {
  return list?.brakes.find((brake) => brake.agent_id === agentId);
}
