import { useState } from "react";
import type { Budget } from "../api/types";
import { ArmedButton } from "../ui/ArmedButton";
import { CapDialog } from "./CapDialog";
import { todayOf } from "./money";

interface CapButtonProps {
  budget: Budget | undefined;
  /** The agent of the cap; all agents together when absent. */
  agentId?: string;
  label: string;
}

/** Opens the dialog that sets a cap. */
export function CapButton({ budget, agentId, label }: CapButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const own = agentId === undefined ? undefined : todayOf(budget, agentId)?.capUsd;
  const capUsd = agentId === undefined ? budget?.daily_cap_usd : own;
  const isSet = agentId === undefined ? budget?.cap_origin === "set" : own !== undefined;
  return (
    <>
      <ArmedButton onPress={() => setOpen(true)} disabled={!budget}>
        {label}
      </ArmedButton>
      {isOpen && <CapDialog agentId={agentId} capUsd={capUsd} isSet={isSet} onClose={() => setOpen(false)} />}
    </>
  );
}
