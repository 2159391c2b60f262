import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { SECRET_NAME } from "../agent/sandboxDraft";
import { setSecret } from "../api/calls";
import { invalidate, keys } from "../api/keys";
import { agentsQuery } from "../api/queries";
import type { Secret } from "../api/types";
import { labels } from "../labels";
import { CheckList } from "../ui/CheckList";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { TextField } from "../ui/Field";
import { setAgentsOf } from "./access";

/** The limits of the server. */
const BYTES_MIN = 8;
const BYTES_MAX = 8 * 1024;

interface SecretDialogProps {
  /** The secret to change; without one, a new secret is stored. */
  secret?: Secret;
  /** The names that are stored already. */
  names: readonly string[];
  onClose: () => void;
}

/** Stores or changes a secret. The value is never shown, and is not kept on the page after it is sent. */
export function SecretDialog({ secret, names, onClose }: SecretDialogProps) {
  const client = useQueryClient();
  const agents = useQuery(agentsQuery).data ?? [];
  // The secret as the server last returned it, so that after an error the rest can be sent again without the value.
  const [stored, setStored] = useState(secret);
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(secret?.agents ?? []);
  const [isChecked, setChecked] = useState(false);
  const storing = useMutation({
    mutationFn: async (sent: string) => {
      const before = sent === "" ? stored : await setSecret(name, sent);
      setStored(before);
      await setAgentsOf(name, before?.agents ?? [], chosen);
    },
    // The variables of a mutation stay in memory; the value must not.
    gcTime: 0,
    onSuccess: onClose,
    onSettled: () => invalidate(client, [keys.secrets(), keys.anyAgent()]),
  });
  const found = errorsOf(name, value, stored, names);
  const errors: typeof found = isChecked ? found : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (found.name || found.value) return;
    setValue("");
    setChecked(false);
    storing.mutate(value.trim());
  };
  const options = [...new Set([...agents.map((one) => one.agent_id), ...(secret?.agents ?? [])])];
  return (
    <Dialog title={secret ? labels.secret.changeTitle(secret.name) : labels.secret.title} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        {!secret && (
          <TextField
            label={labels.secret.name}
            hint={labels.secret.nameHint}
            placeholder={labels.secret.nameExample}
            value={name}
            onValue={setName}
            error={errors.name}
            disabled={stored !== undefined}
            maxLength={64}
          />
        )}
        <TextField
          label={labels.secret.value}
          hint={stored ? `${labels.secret.valueKept} ${labels.secret.valueHint}` : labels.secret.valueHint}
          type="password"
          autoComplete="off"
          value={value}
          onValue={setValue}
          error={errors.value}
        />
        <CheckList
          label={labels.secret.agents}
          hint={labels.secret.agentsHint}
          none={labels.secret.agentsNone}
          options={options.map((one) => [one, one])}
          values={chosen}
          onValues={setChosen}
        />
        {storing.error && (
          <ErrorNotice action={stored ? labels.secret.changeAction : labels.secret.storeAction} error={storing.error} />
        )}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={storing.isPending}>
            {storing.isPending ? labels.common.saving : labels.common.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface SecretErrors {
  name?: string;
  value?: string;
}

/** What is wrong with the fields. A stored secret needs no value. */
function errorsOf(name: string, value: string, stored: Secret | undefined, names: readonly string[]): SecretErrors {
  const bytes = new TextEncoder().encode(value.trim()).length;
  const isKept = stored !== undefined && bytes === 0;
  const nameError = SECRET_NAME.test(name) ? undefined : labels.secret.nameError;
  const taken = stored === undefined && names.includes(name) ? labels.secret.nameTaken : undefined;
  const isValue = isKept || (bytes >= BYTES_MIN && bytes <= BYTES_MAX);
  return { name: nameError ?? taken, value: isValue ? undefined : labels.secret.valueError };
}
