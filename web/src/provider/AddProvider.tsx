import { type FormEvent, useState } from "react";
import { labels } from "../labels";
import { CodeBlock } from "../ui/CodeBlock";
import { Dialog } from "../ui/Dialog";
import { SelectField, TextField } from "../ui/Field";
import { Icon } from "../ui/Icon";
import { addCommands, addErrors, FORMATS, type NewProvider } from "./newProvider";

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
 * Asks for the name, format and address of a provider, and shows the commands that add it: the address that agents' work
 * is sent to is changed only on the command line, so that a stolen login of a browser is not enough.
 */
function AddDialog({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<NewProvider>({ name: "", kind: FORMATS[0], baseUrl: "" });
  const [isChecked, setChecked] = useState(false);
  const change = (changed: Partial<NewProvider>) => {
    setChecked(false);
    setValues({ ...values, ...changed });
  };
  const errors = isChecked ? addErrors(values) : {};
  const isValid = isChecked && Object.keys(errors).length === 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
  };
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
          onValue={(kind) => change({ kind })}
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
        {isValid && (
          <div role="status">
            <p>{labels.provider.addRun}</p>
            <CodeBlock text={addCommands(values)} language="sh" />
            <p className="quiet">{labels.provider.addThen}</p>
          </div>
        )}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {isValid ? labels.common.close : labels.common.cancel}
          </button>
          {!isValid && (
            <button type="submit" className="button primary">
              {labels.provider.addShow}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
