import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useRef, useState } from "react";
import { ModelOptions } from "../agent/ModelOptions";
import { retryRun } from "../api/calls";
import { ACTIVITY_KEYS, invalidate } from "../api/keys";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { navigate, runPath } from "../shell/router";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { TextArea, TextField } from "../ui/Field";

interface RetryDialogProps {
  run: Run;
  /** The step from which it runs again; without one it runs again from its message. */
  stepId?: string;
  onClose: () => void;
}

/** Runs an ended run again: with its message, which can be changed, or from a step, with a message added. */
export function RetryDialog({ run, stepId, onClose }: RetryDialogProps) {
  const texts = stepId === undefined ? labels.retry : { ...labels.retry, ...labels.retryFrom };
  const original = stepId === undefined ? (run.cause?.text ?? "") : "";
  const [text, setText] = useState(original);
  const [model, setModel] = useState("");
  const modelsId = useId();
  const client = useQueryClient();
  // A second click in the same moment sends nothing: the state of the mutation is only as new as the last render.
  const isSent = useRef(false);
  const sending = useMutation({
    mutationFn: () =>
      retryRun(run.run_key, {
        ...(stepId === undefined ? {} : { from_step: stepId }),
        ...(text.trim() === original.trim() || text.trim() === ""
          ? {}
          : { [stepId === undefined ? "text" : "message"]: text.trim() }),
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
    <Dialog title={texts.title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p className="quiet">{texts.hint}</p>
        <TextArea
          label={texts.text}
          isOptional={stepId !== undefined}
          rows={stepId === undefined ? 6 : 3}
          value={text}
          onValue={setText}
        />
        <TextField
          label={texts.model}
          hint={texts.modelHint}
          isOptional
          value={model}
          onValue={setModel}
          placeholder={run.model}
          list={modelsId}
        />
        <ModelOptions id={modelsId} />
        {sending.error && <ErrorNotice action={texts.action} error={sending.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={sending.isPending}>
            {sending.isPending ? texts.sending : texts.title}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
