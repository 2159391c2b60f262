import { useMutation } from "@tanstack/react-query";
import { labels } from "../labels";
import { Dialog } from "./Dialog";
import { ErrorNotice } from "./ErrorNotice";

interface ConfirmDialogProps {
  title: string;
  /** What happens, and what stays. */
  hint: string;
  /** The text of the button that does it. */
  button: string;
  /** The action, as the end of "Could not …". */
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, hint, button, action, onConfirm, onClose }: ConfirmDialogProps) {
  const doing = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="form">
        <p>{hint}</p>
        {doing.error && <ErrorNotice action={action} error={doing.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="button" className="button danger" onClick={() => doing.mutate()} disabled={doing.isPending}>
            {button}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
