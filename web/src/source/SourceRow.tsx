import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { removeSource, scanSource } from "../api/calls";
import { keys } from "../api/keys";
import type { Source } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";

/** One watched folder or repository. */
export function SourceRow({ source }: { source: Source }) {
  const [isRemoving, setRemoving] = useState(false);
  const client = useQueryClient();
  const name = source.source_id;
  const refresh = () => client.invalidateQueries({ queryKey: keys.sources() });
  const scanning = useMutation({ mutationFn: () => scanSource(name), onSettled: refresh });
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>{name}</h2>
        <Badge tone="quiet">{labels.source.kinds[source.kind]}</Badge>
      </div>
      <p>
        <code>{source.path}</code>
      </p>
      <p className="entry-facts">
        <span>{labels.source.entries[source.kind](source.entries)}</span>
        <span>
          {labels.source.added} <Time at={source.created_at} />
        </span>
      </p>
      {source.last_error && <p className="wrong">{toSentence(labels.source.failed(source.last_error))}</p>}
      <div className="entry-actions">
        <button
          type="button"
          className="button"
          aria-label={labels.source.with(labels.source.scan, name)}
          onClick={() => scanning.mutate()}
          disabled={scanning.isPending}
        >
          {scanning.isPending ? labels.source.scanning : labels.source.scan}
        </button>
        <button
          type="button"
          className="button"
          aria-label={labels.source.with(labels.source.remove, name)}
          onClick={() => setRemoving(true)}
        >
          {labels.source.remove}
        </button>
        {scanning.data && (
          <span className="quiet" role="status">
            {labels.source.scanned(scanning.data.changes, scanning.data.unreadable)}
          </span>
        )}
      </div>
      {scanning.error && <ErrorNotice action={labels.source.scanAction} error={scanning.error} />}
      {isRemoving && (
        <ConfirmDialog
          title={labels.source.removeTitle(name)}
          hint={labels.source.removeHint}
          button={labels.source.removeButton}
          action={labels.source.removeAction}
          onConfirm={() => removeSource(name).then(refresh)}
          onClose={() => setRemoving(false)}
        />
      )}
    </li>
  );
}
