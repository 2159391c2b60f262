import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type MouseEvent, useState } from "react";
import { triggerSchedule } from "../api/calls";
import { keys } from "../api/keys";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { executionText } from "./execution";

/** Fires a schedule now. A double click fires it once, and so does a request that is sent again. */
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
  // The second click of a double click can come after the response to the first.
  const press = ({ detail }: MouseEvent) => {
    if (detail < 2) running.mutate();
  };
  return (
    <>
      <button
        type="button"
        className="button"
        aria-label={labels.schedule.with(labels.schedule.runNow, scheduleId)}
        onClick={press}
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
