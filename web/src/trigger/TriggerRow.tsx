import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { revokeTrigger, rotateTrigger } from "../api/calls";
import { triggerQuery } from "../api/queries";
import type { ExternalTrigger } from "../api/types";
import { labels } from "../labels";
import { agentPath, Link } from "../shell/router";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { CopyButton } from "../ui/CopyButton";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";

/** The trigger of one agent. Its URL is a secret, and the request for it creates it, so it is shown on demand. */
export function TriggerRow({ agentId }: { agentId: string }) {
  const [asking, setAsking] = useState<"rotate" | "revoke">();
  const client = useQueryClient();
  const trigger = useQuery(triggerQuery(agentId));
  const set = (changed: ExternalTrigger) => client.setQueryData(triggerQuery(agentId).queryKey, changed);
  const { of } = labels.trigger;
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>
          <Link to={agentPath(agentId)}>{agentId}</Link>
        </h2>
        {trigger.data?.status === "revoked" && <Badge tone="warn">{labels.trigger.revoked}</Badge>}
      </div>
      {trigger.error && <ErrorNotice action={labels.trigger.loadAction(agentId)} error={trigger.error} />}
      {trigger.data && <Facts trigger={trigger.data} agentId={agentId} />}
      <div className="entry-actions">
        {!trigger.data && (
          <button
            type="button"
            className="button"
            aria-label={of(labels.trigger.show, agentId)}
            onClick={() => void trigger.refetch()}
            disabled={trigger.isFetching}
          >
            {labels.trigger.show}
          </button>
        )}
        {trigger.data && (
          <button
            type="button"
            className="button"
            aria-label={of(labels.trigger.rotate, agentId)}
            onClick={() => setAsking("rotate")}
          >
            {labels.trigger.rotate}
          </button>
        )}
        {trigger.data?.status === "active" && (
          <button
            type="button"
            className="button"
            aria-label={of(labels.trigger.revoke, agentId)}
            onClick={() => setAsking("revoke")}
          >
            {labels.trigger.revoke}
          </button>
        )}
      </div>
      {asking && (
        <ConfirmDialog
          title={asking === "rotate" ? labels.trigger.rotateTitle(agentId) : labels.trigger.revokeTitle(agentId)}
          hint={asking === "rotate" ? labels.trigger.rotateHint : labels.trigger.revokeHint}
          button={asking === "rotate" ? labels.trigger.rotateButton : labels.trigger.revokeButton}
          action={asking === "rotate" ? labels.trigger.rotateAction : labels.trigger.revokeAction}
          onConfirm={() => (asking === "rotate" ? rotateTrigger : revokeTrigger)(agentId).then(set)}
          onClose={() => setAsking(undefined)}
        />
      )}
    </li>
  );
}

function Facts({ trigger, agentId }: { trigger: ExternalTrigger; agentId: string }) {
  const url = trigger.trigger_path && location.origin + trigger.trigger_path;
  return (
    <>
      {url && (
        <div className="secret">
          <code>{url}</code>
          <CopyButton text={url} label={labels.trigger.of(labels.trigger.copy, agentId)} />
        </div>
      )}
      <p className="entry-facts">
        <span>{labels.trigger.count(trigger.trigger_count)}</span>
        {trigger.last_triggered_at && (
          <span>
            {labels.trigger.newest} <Time at={trigger.last_triggered_at} />
          </span>
        )}
      </p>
    </>
  );
}
