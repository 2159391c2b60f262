import { useMutation, useQueryClient } from "@tanstack/react-query";
import { abandonRun, resumeRun } from "../api/calls";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import { ErrorNotice } from "../ui/ErrorNotice";

/** Resumes or abandons a quarantined run. */
export function QuarantineActions({ runKey }: { runKey: string }) {
  const client = useQueryClient();
  const acting = useMutation({
    mutationFn: (action: "resume" | "abandon") => (action === "resume" ? resumeRun(runKey) : abandonRun(runKey)),
    onSettled: () => invalidate(client, [keys.quarantinedRuns(), ...ACTIVITY_KEYS]),
  });
  return (
    <>
      <button
        type="button"
        className="button small"
        onClick={() => acting.mutate("resume")}
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
      {acting.error && <ErrorNotice action="move the run" error={acting.error} />}
    </>
  );
}
