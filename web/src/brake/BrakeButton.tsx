import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { createPortal } from "react-dom";
import { brakesQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { BrakeDialog } from "./BrakeDialog";
import { brakeOf } from "./brake";

/** Opens the dialog that brakes one agent or all, and shows whether the brake is on. */
export function BrakeButton({ agentId }: { agentId?: string }) {
  const brakes = useQuery(brakesQuery);
  const [isOpen, setOpen] = useState(false);
  const brake = brakeOf(brakes.data, agentId);
  const off = agentId ? labels.brake.off : labels.brake.allOff;
  const on = agentId ? labels.brake.on : labels.brake.allOn;
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
      {/* In the body, because the dialog has a header of its own and the button stands in the header of the page. */}
      {isOpen &&
        createPortal(<BrakeDialog agentId={agentId} brake={brake} onClose={() => setOpen(false)} />, document.body)}
    </>
  );
}
