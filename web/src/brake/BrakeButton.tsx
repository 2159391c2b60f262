import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { createPortal } from "react-dom";
import { brakesQuery } from "../api/queries";
import { Icon } from "../ui/Icon";
import { BrakeDialog } from "./BrakeDialog";
import { brakeOf } from "./brake";

/** Stops everything or one agent, and says so while it is stopped. */
export function BrakeButton({ agentId }: { agentId?: string }) {
  const brakes = useQuery(brakesQuery);
  const [isOpen, setOpen] = useState(false);
  const brake = brakeOf(brakes.data, agentId);
  const off = agentId ? "Brake" : "Brake all";
  const on = agentId ? "Release the brake" : "All braked";
  return (
    <>
      <button
        type="button"
        className={`button small brake ${brake ? "on" : ""}`}
        aria-pressed={brake !== undefined}
        onClick={() => setOpen(true)}
      >
        <Icon name="stop" /> <span className="brake-label">{brake ? on : off}</span>
      </button>
      {/* Outside of whatever the button stands in: a dialog has a head of its own, and the page's header already is one. */}
      {isOpen &&
        createPortal(<BrakeDialog agentId={agentId} brake={brake} onClose={() => setOpen(false)} />, document.body)}
    </>
  );
}
