import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { addProvider } from "../api/calls";
import { invalidate, keys } from "../api/keys";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { CheckField, SelectField, TextField } from "../ui/Field";
import { fieldErrors } from "../ui/fieldErrors";
import { Icon } from "../ui/Icon";
import { addErrors, addProviderOf, EMPTY_PROVIDER, ERROR_NAMES, FORMATS, type NewProvider } from "./newProvider";
import { TestResult } from "./ProviderRow";

/** Opens the dialog for a provider with its own address. */
export function AddProvider() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Icon name="plus" /> {labels.provider.add}
      </button>
      {isOpen && <AddDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/**
 * Adds a provider with its own address and key. The server refuses a name that exists: a stolen login of a browser must not
 * be enough to send an existing key to another address.
 */
function AddDialog({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState(EMPTY_PROVIDER);
  const [isChecked, setChecked] = useState(false);
  const client = useQueryClient();
  const adding = useMutation({
    mutationFn: (sent: NewProvider) => addProvider(addProviderOf(sent)),
    // The variables of a mutation stay in memory; the key must not.
    gcTime: 0,
    onSuccess: () => invalidate(client, [keys.providers(), keys.models()]),
  });
  const change = (changed: Partial<NewProvider>) => setValues({ ...values, ...changed });
  const found = addErrors(values);
  const refused = fieldErrors(adding.error, ERROR_NAMES);
  const errors = { ...refused.byField, ...(isChecked ? found : {}) };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (Object.keys(found).length > 0) return;
    change({ key: "" });
    adding.mutate(values);
  };
  if (adding.data) {
    const { provider, test } = adding.data;
    return (
      <Dialog title={labels.provider.addTitle} onClose={onClose}>
        <p role="status">{labels.provider.added(provider.name)}</p>
        {test && <TestResult test={test} />}
        <div className="form-end">
          <button type="button" className="button primary" onClick={onClose}>
            {labels.common.close}
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={labels.provider.addTitle} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        <TextField
          label={labels.provider.addName}
          hint={labels.provider.addNameHint}
          value={values.name}
          onValue={(name) => change({ name: name.trim() })}
          error={errors.name}
        />
        <SelectField
          label={labels.provider.format}
          value={values.kind}
          onValue={(kind) => change({ kind: kind as NewProvider["kind"] })}
          options={FORMATS.map((one) => [one, labels.provider.formats[one]] as const)}
        />
        <TextField
          label={labels.provider.baseUrl}
          hint={labels.provider.baseUrlHint}
          value={values.baseUrl}
          onValue={(baseUrl) => change({ baseUrl: baseUrl.trim() })}
          error={errors.baseUrl}
          inputMode="url"
        />
        <TextField
          label={labels.provider.key}
          hint={labels.provider.keyHint}
          isOptional
          type="password"
          autoComplete="off"
          value={values.key}
          onValue={(key) => change({ key })}
          error={errors.key}
        />
        <CheckField
          label={labels.provider.addUntested}
          hint={labels.provider.addUntestedHint}
          checked={values.skipsTest}
          onValue={(skipsTest) => change({ skipsTest })}
        />
        {refused.other !== undefined && <ErrorNotice action={labels.provider.addAction} error={refused.other} />}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={adding.isPending}>
            {adding.isPending ? labels.provider.testing : labels.provider.add}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
