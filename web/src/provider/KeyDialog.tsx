import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setProviderKey } from "../api/calls";
import type { ModelProvider } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { CheckField, TextField } from "../ui/Field";

interface KeyDialogProps {
  provider: ModelProvider;
  onClose: () => void;
  onStored: () => Promise<unknown>;
}

/** Stores the key of a provider. The key is never shown, and is not kept on the page after it is sent. */
export function KeyDialog({ provider: { name }, onClose, onStored }: KeyDialogProps) {
  const [key, setKey] = useState("");
  const [skipsTest, setSkipsTest] = useState(false);
  const [error, setError] = useState<string>();
  const storing = useMutation({
    mutationFn: (sent: string) => setProviderKey(name, { key: sent, skip_test: skipsTest }),
    // The variables of a mutation stay in memory; the key must not.
    gcTime: 0,
    onSuccess: async () => {
      await onStored();
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const sent = key.trim();
    setError(sent === "" ? labels.provider.keyMissing : undefined);
    if (sent === "") return;
    setKey("");
    storing.mutate(sent);
  };
  return (
    <Dialog title={labels.provider.keyTitle(name)} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <TextField
          label={labels.provider.key}
          hint={labels.provider.keyHint}
          type="password"
          autoComplete="off"
          value={key}
          onValue={setKey}
          error={error}
        />
        <CheckField
          label={labels.provider.skipTest}
          hint={labels.provider.skipTestHint}
          checked={skipsTest}
          onValue={setSkipsTest}
        />
        {storing.error && <ErrorNotice action={labels.provider.keyAction} error={storing.error} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={storing.isPending}>
            {storing.isPending ? labels.provider.testing : labels.provider.store}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
