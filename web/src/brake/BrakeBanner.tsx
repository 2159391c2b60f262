import { useQuery } from "@tanstack/react-query";
import { brakesQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import { brakeOf } from "./brake";
import { NotDurableNote } from "./NotDurableNote";

/** Shows on every page that all agents are braked. */
export function BrakeBanner() {
  const brake = brakeOf(useQuery(brakesQuery).data);
  return (
    <div className={`brake-banner ${brake ? "shown" : ""}`} role="status">
      {brake && (
        <>
          <Icon name="stop" /> {labels.brake.allBraked} <Time at={brake.at} />
          {brake.reason !== "" && `: ${labels.common.quote(brake.reason)}`}. {labels.brake.nothingStarts}
          <NotDurableNote notDurable={brake.not_durable} />
        </>
      )}
    </div>
  );
}
