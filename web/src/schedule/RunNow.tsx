import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { triggerSchedule } from "../api/calls";
import { keys } from "../api/keys";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { executionText } from "./execution";

/** Fires a schedule now. A double click fires it once: both requests have the same key. */
export function RunNow({ scheduleId }: { scheduleId: string }) {
  const [key, setKey] = useState(() => crypto.randomUUID());
  const client = useQueryClient();
  const running = useMutation({
    mutationFn: () => triggerSchedule(scheduleId, key),
    onSuccess: async () => {
      setKey(crypto.randomUUID());
      await client.invalidateQueries({ queryKey: keys.schedules() });
    },
  });
  return (
    <>
      <button
        type="button"
        className="button"
        aria-label={labels.schedule.with(labels.schedule.runNow, scheduleId)}
        onClick={() => running.mutate()}
        disabled={running.isPending}
      >
        {running.isPending ? labels.schedule.running : labels.schedule.runNow}
      </button>
      {running.data && (
        <span className="quiet" role="status">
          {executionText(running.data)}
        </span>
      )}
      {running.error && <ErrorNotice action={labels.schedule.action(labels.schedule.runNow)} error={running.error} />}
    </>
  );
}
