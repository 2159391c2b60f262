import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { cancelRun } from "../api/calls";
import { keys } from "../api/keys";
import { brakesQuery } from "../api/queries";
import type { QueuedMessage } from "../api/types";
import { brakeOf } from "../brake/brake";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";

/** A message in the queue of the server, with a button that cancels it. */
export function QueuedView({ agentId, message }: { agentId: string; message: QueuedMessage }) {
  const client = useQueryClient();
  const cancelling = useMutation({
    mutationFn: () => cancelRun(message.run_key),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(agentId) }),
  });
  const brakes = useQuery(brakesQuery).data;
  const held = brakeOf(brakes) ? labels.message.heldByAll : brakeOf(brakes, agentId) && labels.message.heldBy(agentId);
  return (
    <li className="turn user waiting">
      <p className="turn-author">{labels.common.you}</p>
      <div className="bubble">{visibleText(message.preview)}</div>
      <div className="turn-foot">
        <span>
          {message.priority === "interject" ? labels.message.joining : labels.message.queued}{" "}
          <Time at={message.admitted_at} />
          {held && ` · ${held}`}
        </span>
        <button
          type="button"
          className="button small"
          onClick={() => cancelling.mutate()}
          disabled={cancelling.isPending || cancelling.isSuccess}
        >
          {labels.message.cancelOne}
        </button>
      </div>
      {cancelling.error && <ErrorNotice action={labels.message.cancelOneAction} error={cancelling.error} />}
    </li>
  );
}
