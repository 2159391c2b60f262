import { useMutation, useQueryClient } from "@tanstack/react-query";
import { clearQueue } from "../api/calls";
import { Trouble } from "../ui/Trouble";

/** Cancels every message that waits for an agent. */
export function ClearQueue({ agentId }: { agentId: string }) {
  const client = useQueryClient();
  const clearing = useMutation({
    mutationFn: () => clearQueue(agentId),
    onSuccess: () => client.invalidateQueries({ queryKey: ["agent", agentId] }),
  });
  return (
    <li className="turn asked">
      <button type="button" className="button small" onClick={() => clearing.mutate()} disabled={clearing.isPending}>
        Cancel waiting messages
      </button>
      {clearing.error && <Trouble doing="cancel them" thrown={clearing.error} />}
    </li>
  );
}
