import { useQuery } from "@tanstack/react-query";
import { brakesQuery } from "../api/queries";
import { Glyph } from "../ui/Glyph";
import { Time } from "../ui/Time";
import { brakeOf } from "./brake";
import { NotDurableNote } from "./NotDurableNote";

/** Below the header while everything is held, on every page. */
export function BrakeBanner() {
  const brake = brakeOf(useQuery(brakesQuery).data);
  return (
    <div className={`braked ${brake ? "shown" : ""}`} role="status">
      {brake && (
        <>
          <Glyph name="stop" /> All agents are braked <Time at={brake.at} />
          {brake.reason !== "" && `: “${brake.reason}”`}. Nothing begins until the brake is released.
          <NotDurableNote of={brake.not_durable} />
        </>
      )}
    </div>
  );
}
