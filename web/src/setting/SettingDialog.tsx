import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setSetting } from "../api/calls";
import { asFailure } from "../api/failure";
import { keys } from "../api/keys";
import type { Setting } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Dialog } from "../ui/Dialog";
import { TextField } from "../ui/Field";
import { typedValue, valueText } from "./value";

/** Changes one setting, or restores its default. */
export function SettingDialog({ setting, onClose }: { setting: Setting; onClose: () => void }) {
  const [value, setValue] = useState(() => valueText(setting.value));
  const client = useQueryClient();
  const saving = useMutation({
    mutationFn: (next: unknown) => setSetting(setting.name, next),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: keys.settings() });
    },
  });
  const failure = saving.error ? asFailure(saving.error) : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate(typedValue(value, setting.value));
  };
  return (
    <Dialog title={labels.setting.changeTitle(setting.name)} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <p>{toSentence(setting.description)}</p>
        <TextField
          label={labels.setting.value}
          hint={setting.needs_restart ? labels.setting.needsRestart : labels.setting.valueHint}
          value={value}
          onValue={setValue}
          error={failure && [failure.message, failure.hint].filter(Boolean).map(toSentence).join(" ")}
        />
        <div className="form-end">
          <button
            type="button"
            className="button"
            onClick={() => saving.mutate(null)}
            disabled={saving.isPending || setting.origin !== "file"}
          >
            {labels.common.useDefault}
          </button>
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={saving.isPending}>
            {saving.isPending ? labels.common.saving : labels.common.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
