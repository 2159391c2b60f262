import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { releaseBrake, setBrake } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import { brakesQuery } from "../api/queries";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";
import type { Brake } from "./brake";

/** The server's bound. */
const REASON_CHARS_MAX = 500;

interface BrakeDialogProps {
  /** Who is to be held; everybody when absent. */
  agentId?: string;
  /** The brake that is on. */
  brake?: Brake;
  onClose: () => void;
}

/** Sets a brake, with a reason for whoever finds it on, or releases it. */
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
  const target = agentId ?? "everything";
  return (
    <Dialog title={brake ? `Release ${target}` : `Stop ${target}`} onClose={onClose}>
      <form onSubmit={submit} className="form" noValidate>
        {brake ? (
          <p>
            Braked <Time at={brake.at} />
            {brake.reason === "" ? "." : `: “${brake.reason}”`} What it held goes on where it stood.
          </p>
        ) : (
          <label>
            <span>Why, for whoever finds it on</span>
            <input
              value={reason}
              onChange={(event) => setReason(event.target.value)}
              maxLength={REASON_CHARS_MAX}
              autoComplete="off"
            />
            <small>
              Messages are kept, nothing begins, and what runs is stopped. It holds over restarts until somebody
              releases it.
            </small>
          </label>
        )}
        {toggling.error && (
          <ErrorNotice action={brake ? "release the brake" : "set the brake"} error={toggling.error} />
        )}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className={`button ${brake ? "primary" : "danger"}`} disabled={toggling.isPending}>
            {brake ? `Release ${target}` : `Stop ${target}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
