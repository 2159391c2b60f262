import { useMutation, useQueryClient } from "@tanstack/react-query";
import { abandonRun, resumeRun } from "../api/calls";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import { ErrorNotice } from "../ui/ErrorNotice";

/** The two ways out for a run that cannot go on. */
export function QuarantineActions({ runKey }: { runKey: string }) {
  const client = useQueryClient();
  const acting = useMutation({
    mutationFn: (action: "retry" | "abandon") => (action === "retry" ? resumeRun(runKey) : abandonRun(runKey)),
    onSettled: () => invalidate(client, [keys.quarantinedRuns(), ...ACTIVITY_KEYS]),
  });
  return (
    <>
      <p className="attention-actions">
        <button
          type="button"
          className="button small"
          onClick={() => acting.mutate("retry")}
          disabled={acting.isPending}
        >
          Try it again
        </button>
        <button
          type="button"
          className="button small"
          onClick={() => acting.mutate("abandon")}
          disabled={acting.isPending}
        >
          Give it up
        </button>
        <span className="quiet">What it finished stays done either way.</span>
      </p>
      {acting.error && <ErrorNotice action="move the run" error={acting.error} />}
    </>
  );
}
