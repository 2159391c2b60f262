import { useMutation, useQueryClient } from "@tanstack/react-query";
import { abandonRun, retryRun } from "../api/calls";
import { Trouble } from "../ui/Trouble";

/** The two ways out for a run that cannot go on. */
export function AsideWays({ runKey }: { runKey: string }) {
  const client = useQueryClient();
  const moving = useMutation({
    mutationFn: (way: "retry" | "abandon") => (way === "retry" ? retryRun(runKey) : abandonRun(runKey)),
    onSettled: () =>
      client.invalidateQueries({
        predicate: ({ queryKey }) => ["quarantined", "agents", "agent", "runtime", "run"].includes(String(queryKey[0])),
      }),
  });
  return (
    <>
      <p className="need-acts">
        <button
          type="button"
          className="button small"
          onClick={() => moving.mutate("retry")}
          disabled={moving.isPending}
        >
          Try it again
        </button>
        <button
          type="button"
          className="button small"
          onClick={() => moving.mutate("abandon")}
          disabled={moving.isPending}
        >
          Give it up
        </button>
        <span className="quiet">What it finished stays done either way.</span>
      </p>
      {moving.error && <Trouble doing="move the run" thrown={moving.error} />}
    </>
  );
}
