import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asFailure } from "../api/failure";
import { runChangesQuery } from "../api/queries";
import type { Run, RunChanges, UndoDirection } from "../api/types";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";
import { diffLines } from "./diffLines";
import { UndoDialog } from "./UndoDialog";

/** As high as the closed changes of most runs: the space that the page keeps for them. */
const LINES_USUAL = 5;

/** What a run changed in its workspace, with a button that undoes it. Runs without a tool call change nothing. */
export function ChangesView({ run }: { run: Run }) {
  const changes = useQuery({ ...runChangesQuery(run.run_key), enabled: run.tool_calls.length > 0 });
  const [direction, setDirection] = useState<UndoDirection>();
  const isEnded = run.outcome !== "open" && run.outcome !== "queued" && run.outcome !== "quarantined";
  const found = changes.data;
  if (changes.isLoading) return <Skeleton lines={LINES_USUAL} label={labels.changes.loading} />;
  // A run that only read has no snapshot.
  if (!found && (!changes.error || asFailure(changes.error).code === "snapshot_missing")) return null;
  return (
    <section className="panel" aria-labelledby="changes-title">
      <h2 id="changes-title">{labels.changes.title}</h2>
      {changes.error && (
        <ErrorNotice action={labels.changes.loadAction} error={changes.error} onRetry={() => void changes.refetch()} />
      )}
      {found && <ChangesBody changes={found} />}
      {found && isEnded && found.files_total > 0 && (
        <div className="form-end">
          <button type="button" className="button small" onClick={() => setDirection("redo")}>
            {labels.changes.redo}
          </button>
          <button type="button" className="button small" onClick={() => setDirection("undo")}>
            {labels.changes.undo}
          </button>
        </div>
      )}
      {direction && <UndoDialog runKey={run.run_key} direction={direction} onClose={() => setDirection(undefined)} />}
    </section>
  );
}

function ChangesBody({ changes }: { changes: RunChanges }) {
  if (changes.unavailable) return <p>{labels.changes.unavailable(changes.unavailable)}</p>;
  return (
    <>
      {changes.until_now && <p className="quiet">{labels.changes.untilNow}</p>}
      {changes.files_total === 0 ? (
        <p>{labels.changes.none}</p>
      ) : (
        <details className="step-details">
          <summary>
            {labels.changes.fileCount(changes.files_total)},{" "}
            {labels.changes.lines(changes.lines_added, changes.lines_removed)}
          </summary>
          <ul aria-label={labels.changes.files}>
            {changes.files.map((file) => (
              <li key={file.path}>
                {labels.changes.change[file.change]} <code>{visibleText(file.path)}</code>{" "}
                {file.lines_added === undefined
                  ? labels.changes.binary
                  : labels.changes.lines(file.lines_added, file.lines_removed ?? 0)}
              </li>
            ))}
          </ul>
          {changes.diff !== "" && (
            <pre className="code diff" tabIndex={0} aria-label={labels.changes.diff}>
              {diffLines(changes.diff).map((line, index) => (
                <span key={index} className={`diff-${line.kind}`}>
                  {visibleText(line.text)}
                  {"\n"}
                </span>
              ))}
            </pre>
          )}
          {changes.truncated && <p className="quiet">{labels.changes.truncated}</p>}
        </details>
      )}
      {changes.not_covered.count > 0 && (
        <details className="step-details">
          <summary>{labels.changes.notCovered(changes.not_covered.count)}</summary>
          <ul>
            {changes.not_covered.first.map((entry) => (
              <li key={entry.path}>
                <code>{visibleText(entry.path)}</code> {entry.reason.replaceAll("_", " ")}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
