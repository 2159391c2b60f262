import { useMutation, useQueryClient } from "@tanstack/react-query";
import { abandonRun, resumeRun } from "../api/calls";
import { ACTIVITY_KEYS, invalidate, keys } from "../api/keys";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { useArming } from "../ui/useArming";

/** Resumes or abandons a quarantined run. The buttons ignore clicks right after they appear or move. */
export function QuarantineActions({ runKey }: { runKey: string }) {
  const client = useQueryClient();
  const acting = useMutation({
    mutationFn: (action: "resume" | "abandon") => (action === "resume" ? resumeRun(runKey) : abandonRun(runKey)),
    onSettled: () => invalidate(client, [keys.attention(), ...ACTIVITY_KEYS]),
  });
  const { ref, isArmed, whenArmed } = useArming<HTMLSpanElement>();
  const button = (action: "resume" | "abandon") => (
    <button
      type="button"
      className={`button small ${action === "abandon" ? "deny" : ""}`}
      aria-disabled={!isArmed || undefined}
      onClick={whenArmed(() => acting.mutate(action))}
      disabled={acting.isPending}
    >
      {labels.run[action]}
    </button>
  );
  return (
    <>
      <span ref={ref} />
      {button("resume")}
      {button("abandon")}
      <span className="quiet">{labels.run.quarantineKept}</span>
      {acting.error && <ErrorNotice action={labels.run.quarantineAction} error={acting.error} />}
    </>
  );
}
