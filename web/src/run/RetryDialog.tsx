import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { retryRun } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { navigate, runPath } from "../shell/router";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { TextArea, TextField } from "../ui/Field";

/** Runs an ended run again. Its text can be changed before it is sent. */
export function RetryDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const original = run.cause?.text ?? "";
  const [text, setText] = useState(original);
  const [model, setModel] = useState("");
  const client = useQueryClient();
  // A second click in the same moment sends nothing: the state of the mutation is only as new as the last render.
  const isSent = useRef(false);
  const sending = useMutation({
    mutationFn: () =>
      retryRun(run.run_key, {
        ...(text.trim() === original.trim() || text.trim() === "" ? {} : { text: text.trim() }),
        ...(model.trim() === "" ? {} : { model: model.trim() }),
      }),
    onSuccess: async (accepted) => {
      onClose();
      navigate(runPath(run.agent_id, accepted.run_key));
      await invalidate(client, ACTIVITY_KEYS);
    },
    onError: () => {
      isSent.current = false;
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isSent.current) return;
    isSent.current = true;
    sending.mutate();
  };
  return (
    <Dialog title={labels.retry.title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p className="quiet">{labels.retry.hint}</p>
        <TextArea label={labels.retry.text} rows={6} value={text} onValue={setText} />
        <TextField
          label={labels.retry.model}
          hint={labels.retry.modelHint}
          isOptional
          value={model}
          onValue={setModel}
          placeholder={run.model}
        />
        {sending.error && <ErrorNotice action={labels.retry.action} error={sending.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={sending.isPending}>
            {sending.isPending ? labels.retry.sending : labels.retry.title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
