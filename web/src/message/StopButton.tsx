import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cancelRun } from "../api/calls";
import { keys } from "../api/keys";
import { runQuery } from "../api/queries";
import type { Step } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Icon } from "../ui/Icon";

/** An action that has started: stopping it can leave half of its work. */
const isInProgress = ({ kind, status }: Step) => kind === "tool" && status === "intended";

/** Cancels the open run of an agent. It asks first while an action is in progress. */
export function StopButton({ agentId, runKey }: { agentId: string; runKey: string }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const stopping = useMutation({
    mutationFn: () => cancelRun(runKey),
    onSuccess: async () => {
      setAsking(false);
      await client.invalidateQueries({ queryKey: keys.agent(agentId) });
    },
  });
  const stop = async () => {
    // Without an answer of the server it is unknown what is in progress, so the reader decides.
    const run = await client.fetchQuery({ ...runQuery(runKey), staleTime: 0, retry: false }).catch(() => undefined);
    if (!run || run.steps.some(isInProgress)) setAsking(true);
    else stopping.mutate();
  };
  return (
    <>
      <button
        type="button"
        className="button stop"
        onClick={() => void stop()}
        disabled={stopping.isPending || stopping.isSuccess}
      >
        <Icon name="stop" /> <span>{stopping.isSuccess ? labels.message.stopping : labels.message.stop}</span>
      </button>
      {isAsking && (
        <Dialog title={labels.message.stopTitle(agentId)} onClose={() => setAsking(false)}>
          <div className="form">
            <p>{labels.message.stopHint}</p>
            {stopping.error && <ErrorNotice action={labels.run.cancelAction} error={stopping.error} />}
            <div className="form-end">
              <button type="button" className="button" onClick={() => setAsking(false)}>
                {labels.message.keepRunning}
              </button>
              <button
                type="button"
                className="button danger"
                onClick={() => stopping.mutate()}
                disabled={stopping.isPending}
              >
                {labels.message.stopRun}
              </button>
            </div>
          </div>
        </Dialog>
      )}
      {stopping.error && !isAsking && <ErrorNotice action={labels.run.cancelAction} error={stopping.error} />}
    </>
  );
}
