import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { trustFolder } from "../api/calls";
import { keys } from "../api/keys";
import type { TrustedFolder } from "../api/types";
import { labels } from "../labels";
import { Badge } from "../ui/Badge";
import { ErrorNotice } from "../ui/ErrorNotice";
import { ReviewDialog } from "./ReviewDialog";

/** One folder: whether it is trusted, who works in it, and what waits for a review. */
export function FolderRow({ folder }: { folder: TrustedFolder }) {
  const [isReviewing, setReviewing] = useState(false);
  const client = useQueryClient();
  const { agents = [], folder: path, is_trusted: isTrusted, untrusted_actions: actions } = folder;
  const answer = useMutation({
    mutationFn: () => trustFolder(path, !isTrusted),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.folders() }),
  });
  const verb = isTrusted ? labels.folder.distrust : labels.folder.trust;
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h3>
          <code>{path}</code>
        </h3>
        <Badge tone={isTrusted ? "good" : "warn"}>{isTrusted ? labels.folder.trusted : labels.folder.distrusted}</Badge>
      </div>
      <p className="entry-facts">
        <span>{labels.folder.agents(agents)}</span>
        <span>{labels.folder.toReview(actions)}</span>
      </p>
      {answer.error && <ErrorNotice action={labels.folder.answerAction} error={answer.error} />}
      <div className="entry-actions">
        {actions > 0 && (
          <button
            type="button"
            className="button"
            aria-label={labels.folder.with(labels.folder.review, path)}
            onClick={() => setReviewing(true)}
          >
            {labels.folder.review}
          </button>
        )}
        <button
          type="button"
          className="button"
          aria-label={labels.folder.with(verb, path)}
          disabled={answer.isPending}
          onClick={() => answer.mutate()}
        >
          {verb}
        </button>
      </div>
      {isReviewing && <ReviewDialog path={path} onClose={() => setReviewing(false)} />}
    </li>
  );
}
