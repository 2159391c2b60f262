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
  /** Whether it is a button of a card, which can move under the pointer. */
  isInCard?: boolean;
}

/** Opens the dialog that sets a cap. */
export function CapButton({ budget, agentId, label, isInCard = false }: CapButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const own = agentId === undefined ? undefined : todayOf(budget, agentId)?.capUsd;
  const capUsd = agentId === undefined ? budget?.daily_cap_usd : own;
  const isSet = agentId === undefined ? budget?.cap_origin === "set" : own !== undefined;
  return (
    <>
      {isInCard ? (
        <ArmedButton onPress={() => setOpen(true)} disabled={!budget}>
          {label}
        </ArmedButton>
      ) : (
        <button type="button" className="button small" onClick={() => setOpen(true)} disabled={!budget}>
          {label}
        </button>
      )}
      {isOpen && <CapDialog agentId={agentId} capUsd={capUsd} isSet={isSet} onClose={() => setOpen(false)} />}
    </>
  );
}
