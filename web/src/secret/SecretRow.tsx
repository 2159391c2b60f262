import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { removeSecret } from "../api/calls";
import { keys } from "../api/keys";
import type { Secret } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { InlineText } from "../ui/InlineText";
import { SecretDialog } from "./SecretDialog";

/** One secret: where its value is stored, which agents may use it, and why it is not available. */
export function SecretRow({ secret, names }: { secret: Secret; names: readonly string[] }) {
  const [open, setOpen] = useState<"change" | "remove">();
  const client = useQueryClient();
  const { agents, key_handle: handle, name, problem } = secret;
  const close = () => setOpen(undefined);
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>{name}</h2>
        <Badge tone={problem ? "warn" : "good"}>{labels.secret.problems[problem ? "some" : "none"]}</Badge>
      </div>
      <p className="entry-facts">
        <span>
          {labels.secret.handle} <code>{handle}</code>
        </span>
        <span>{labels.secret.usedBy(agents)}</span>
      </p>
      {problem && (
        <p className="quiet">
          <InlineText text={toSentence(problem)} />
        </p>
      )}
      <div className="entry-actions">
        <button
          type="button"
          className="button"
          aria-label={labels.secret.with(labels.secret.change, name)}
          onClick={() => setOpen("change")}
        >
          {labels.secret.change}
        </button>
        <button
          type="button"
          className="button"
          aria-label={labels.secret.with(labels.secret.remove, name)}
          onClick={() => setOpen("remove")}
        >
          {labels.secret.remove}
        </button>
      </div>
      {open === "change" && <SecretDialog secret={secret} names={names} onClose={close} />}
      {open === "remove" && (
        <ConfirmDialog
          title={labels.secret.removeTitle(name)}
          hint={labels.secret.removeHint}
          button={labels.secret.removeButton}
          action={labels.secret.removeAction}
          onConfirm={() => removeSecret(name).then(() => client.invalidateQueries({ queryKey: keys.secrets() }))}
          onClose={close}
        />
      )}
    </li>
  );
}
