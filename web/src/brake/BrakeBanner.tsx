import { useQuery } from "@tanstack/react-query";
import { brakesQuery } from "../api/queries";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { brakeOf } from "./brake";
import { NotDurableNote } from "./NotDurableNote";

/** Below the header while everything is held, on every page. */
export function BrakeBanner() {
  const brake = brakeOf(useQuery(brakesQuery).data);
  return (
    <div className={`brake-banner ${brake ? "shown" : ""}`} role="status">
      {brake && (
        <>
          <Icon name="stop" /> All agents are braked <Time at={brake.at} />
          {brake.reason !== "" && `: “${brake.reason}”`}. Nothing begins until the brake is released.
          <NotDurableNote notDurable={brake.not_durable} />
        </>
      )}
    </div>
  );
}
