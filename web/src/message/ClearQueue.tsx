import { useMutation, useQueryClient } from "@tanstack/react-query";
import { clearQueue } from "../api/calls";
import { keys } from "../api/keys";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";

/** Cancels all queued messages of an agent. */
export function ClearQueue({ agentId }: { agentId: string }) {
  const client = useQueryClient();
  const clearing = useMutation({
    mutationFn: () => clearQueue(agentId),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(agentId) }),
  });
  return (
    <li className="turn user">
      <button type="button" className="button small" onClick={() => clearing.mutate()} disabled={clearing.isPending}>
        {labels.message.cancelQueued}
      </button>
      {clearing.error && <ErrorNotice action={labels.message.cancelQueuedAction} error={clearing.error} />}
    </li>
  );
}
