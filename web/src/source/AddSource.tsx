import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { addSource } from "../api/calls";
import { keys } from "../api/keys";
import type { SourceKind } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Choice, TextField } from "../ui/Field";
import { fieldErrors } from "../ui/fieldErrors";
import { useDraft } from "../ui/useDraft";

const FIELD_NAMES = { path: "path", source_id: "name" } as const;
const EMPTY = { kind: "folder" as SourceKind, path: "", name: "" };

/** Starts watching a folder or a Git repository. The request lasts as long as its first scan. */
export function AddSource({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const { values, change, discard } = useDraft("source", EMPTY);
  const [isChecked, setChecked] = useState(false);
  const adding = useMutation({
    mutationFn: () =>
      addSource({
        kind: values.kind,
        path: values.path.trim(),
        ...(values.name.trim() === "" ? {} : { source_id: values.name.trim() }),
      }),
    onSuccess: async () => {
      discard();
      onClose();
      await client.invalidateQueries({ queryKey: keys.sources() });
    },
  });
  const isPathValid = values.path.trim().startsWith("/");
  const refused = fieldErrors(adding.error, FIELD_NAMES);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (isPathValid) adding.mutate();
  };
  return (
    <Dialog title={labels.source.add} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <Choice
          label={labels.source.kind}
          value={values.kind}
          onValue={(kind) => change({ kind })}
          options={[
            ["folder", labels.source.kinds.folder],
            ["git", labels.source.kinds.git],
          ]}
        />
        <TextField
          label={labels.source.path}
          hint={labels.source.pathHint}
          placeholder={labels.source.pathExample}
          value={values.path}
          onValue={(path) => change({ path })}
          error={isChecked && !isPathValid ? labels.source.pathError : refused.byField.path}
        />
        <TextField
          label={labels.source.name}
          hint={labels.source.nameHint}
          isOptional
          value={values.name}
          onValue={(name) => change({ name })}
          error={refused.byField.name}
        />
        {refused.other !== undefined && <ErrorNotice action={labels.source.addAction} error={refused.other} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={adding.isPending}>
            {adding.isPending ? labels.source.adding : labels.source.add}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
