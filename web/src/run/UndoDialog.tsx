import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { undoRun } from "../api/calls";
import { keys } from "../api/keys";
import type { UndoDirection } from "../api/types";
import { labels } from "../labels";
import { visibleText } from "../text/visible";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Skeleton } from "../ui/Skeleton";

interface UndoDialogProps {
  runKey: string;
  direction: UndoDirection;
  onClose: () => void;
}

/** Lists what would be restored, removed and skipped, and asks before it is done. */
export function UndoDialog({ runKey, direction, onClose }: UndoDialogProps) {
  const client = useQueryClient();
  const plan = useQuery({
    queryKey: [...keys.runChanges(runKey), "plan", direction],
    queryFn: () => undoRun(runKey, { dry_run: true, direction }),
    staleTime: 0,
    gcTime: 0,
  });
  const undoing = useMutation({
    mutationFn: () => undoRun(runKey, { direction }),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: keys.runChanges(runKey) }),
  });
  const title = labels.changes[direction];
  const count = (plan.data?.restored_total ?? 0) + (plan.data?.removed_total ?? 0);
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="form">
        {plan.isPending && <Skeleton lines={3} label={labels.changes.title} />}
        {plan.error && <ErrorNotice action={labels.changes.planAction} error={plan.error} />}
        {plan.data && (
          <>
            <FileList title={labels.changes.restore} total={plan.data.restored_total} paths={plan.data.restored} />
            <FileList title={labels.changes.remove} total={plan.data.removed_total} paths={plan.data.removed} />
            <FileList
              title={labels.changes.skip}
              total={plan.data.skipped_total}
              paths={plan.data.skipped.map((file) => file.path)}
            />
          </>
        )}
        {undoing.error && <ErrorNotice action={labels.changes.action} error={undoing.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button
            type="button"
            className="button danger"
            onClick={() => undoing.mutate()}
            disabled={count === 0 || undoing.isPending}
          >
            {title}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function FileList({ title, total, paths }: { title: string; total: number; paths: string[] }) {
  if (total === 0) return null;
  return (
    <section>
      <h3>
        {title}: {labels.changes.fileCount(total)}
      </h3>
      <ul className="file-list">
        {paths.map((path) => (
          <li key={path}>
            <code>{visibleText(path)}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
