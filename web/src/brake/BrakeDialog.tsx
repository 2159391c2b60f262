import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { releaseBrake, setBrake } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import { brakesQuery } from "../api/queries";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";
import type { Brake } from "./brake";

/** The server's limit. */
const REASON_CHARS_MAX = 500;

interface BrakeDialogProps {
  /** The agent to brake; all agents when absent. */
  agentId?: string;
  /** The brake that is on. */
  brake?: Brake;
  onClose: () => void;
}

/** Sets a brake with a reason, or releases it. */
export function BrakeDialog({ agentId, brake, onClose }: BrakeDialogProps) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const toggling = useMutation({
    mutationFn: () =>
      brake
        ? releaseBrake(agentId)
        : setBrake({ agent_id: agentId, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) }),
    onSuccess: async (list) => {
      client.setQueryData(brakesQuery.queryKey, list);
      onClose();
      await invalidate(client, ACTIVITY_KEYS);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    toggling.mutate();
  };
  const set = agentId ? labels.brake.one(agentId) : labels.brake.all;
  const title = brake ? labels.brake.release(agentId) : set;
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        {brake ? (
          <p>
            {labels.brake.since} <Time at={brake.at} />
            {brake.reason === "" ? "." : `: ${labels.common.quote(brake.reason)}`} {labels.brake.releaseHint}
          </p>
        ) : (
          <label>
            <span>{labels.brake.reason}</span>
            <input
              value={reason}
              onChange={(event) => setReason(event.target.value)}
              maxLength={REASON_CHARS_MAX}
              autoComplete="off"
            />
            <small>{labels.brake.reasonHint}</small>
          </label>
        )}
        {toggling.error && (
          <ErrorNotice action={brake ? labels.brake.releaseAction : labels.brake.setAction} error={toggling.error} />
        )}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className={`button ${brake ? "primary" : "danger"}`} disabled={toggling.isPending}>
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
