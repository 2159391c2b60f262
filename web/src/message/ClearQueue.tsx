import { useMutation, useQueryClient } from "@tanstack/react-query";
import { clearQueue } from "../api/calls";
import { keys } from "../api/keys";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";

interface ClearQueueProps {
  agentId: string;
  /** The number of queued messages. */
  count: number;
  /** The number of those that belong to other conversations, or to none. */
  elsewhere: number;
}

/** Cancels all queued messages of an agent, of every conversation. */
export function ClearQueue({ agentId, count, elsewhere }: ClearQueueProps) {
  const client = useQueryClient();
  const clearing = useMutation({
    mutationFn: () => clearQueue(agentId),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(agentId) }),
  });
  return (
    <li className="turn user">
      <button type="button" className="button small" onClick={() => clearing.mutate()} disabled={clearing.isPending}>
        {elsewhere > 0 ? labels.message.cancelAllQueued(count) : labels.message.cancelQueued}
      </button>
      {clearing.error && <ErrorNotice action={labels.message.cancelQueuedAction} error={clearing.error} />}
    </li>
  );
}
