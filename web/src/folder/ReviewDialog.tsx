import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { reviewFolder } from "../api/calls";
import { keys } from "../api/keys";
import { untrustedFilesQuery } from "../api/queries";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";

/** The files that actions with untrusted data wrote in a folder, and the button that marks them as reviewed. */
export function ReviewDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const client = useQueryClient();
  const listed = useQuery(untrustedFilesQuery(path));
  const review = useMutation({
    mutationFn: (listedAt: string) => reviewFolder(path, listedAt),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.folders() }).then(onClose),
  });
  const { data } = listed;
  return (
    <Dialog title={labels.folder.reviewTitle(path)} onClose={onClose}>
      <div className="form">
        {listed.error && <ErrorNotice action={labels.folder.filesAction} error={listed.error} />}
        {listed.isPending && <p role="status">{labels.folder.filesLoading}</p>}
        {data && (
          <>
            {data.files.length === 0 && <p className="quiet">{labels.folder.filesNone}</p>}
            <ul>
              {data.files.map((file) => (
                <li key={file.path}>
                  <code>{file.path}</code> <Time at={file.changed_at} />{" "}
                  <span className="quiet">{labels.folder.writtenBy(file.agent_id, file.tool)}</span>
                </li>
              ))}
            </ul>
            {data.is_truncated && <p className="quiet">{labels.folder.filesMore}</p>}
            <p className="quiet">{labels.folder.reviewHint}</p>
          </>
        )}
        {review.error && <ErrorNotice action={labels.folder.reviewAction} error={review.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button
            type="button"
            className="button primary"
            disabled={!data || review.isPending}
            onClick={() => data && review.mutate(data.listed_at)}
          >
            {labels.folder.reviewButton}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
