import { useMutation, useQueryClient } from "@tanstack/react-query";
import { clearQueue } from "../api/calls";
import { keys } from "../api/keys";
import { ErrorNotice } from "../ui/ErrorNotice";

/** Cancels every message that waits for an agent. */
export function ClearQueue({ agentId }: { agentId: string }) {
  const client = useQueryClient();
  const clearing = useMutation({
    mutationFn: () => clearQueue(agentId),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.agent(agentId) }),
  });
  return (
    <li className="turn user">
      <button type="button" className="button small" onClick={() => clearing.mutate()} disabled={clearing.isPending}>
        Cancel waiting messages
      </button>
      {clearing.error && <ErrorNotice action="cancel them" error={clearing.error} />}
    </li>
  );
}
