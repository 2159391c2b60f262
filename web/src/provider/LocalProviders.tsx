import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setSetting } from "../api/calls";
import { invalidate, keys } from "../api/keys";
import type { LocalProvider } from "../api/types";
import { labels } from "../labels";
import { ErrorNotice } from "../ui/ErrorNotice";
import { SelectField } from "../ui/Field";

/** The setting of the model that runs use when they name none. */
const DEFAULT_MODEL = "model.default";

/** The model servers that were found on this machine, each with a button that uses one of its models. */
export function LocalProviders({ found }: { found: readonly LocalProvider[] }) {
  return (
    <section className="panel" aria-labelledby="local-title">
      <h2 id="local-title">{labels.provider.local}</h2>
      <p role="status">{labels.provider.found(found.length)}</p>
      <ul className="entries">
        {found.map((one) => (
          <li key={one.base_url}>
            <b>{one.provider}</b> <code>{one.base_url}</code>
            {one.models.length === 0 ? (
              <p className="quiet">{labels.provider.localEmpty}</p>
            ) : (
              <UseModel provider={one} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Makes a model of a server the default of all agents without a model of their own. */
function UseModel({ provider: { provider, models } }: { provider: LocalProvider }) {
  const [model, setModel] = useState(models[0] ?? "");
  const client = useQueryClient();
  const using = useMutation({
    mutationFn: (reference: string) => setSetting(DEFAULT_MODEL, reference),
    onSuccess: () => invalidate(client, [keys.settings(), keys.models(), keys.runtime()]),
  });
  return (
    <div className="form">
      <SelectField
        label={labels.provider.localModel(provider)}
        value={model}
        onValue={setModel}
        options={models.map((one) => [one, one] as const)}
      />
      <div className="form-end">
        <button type="button" className="button" onClick={() => using.mutate(model)} disabled={using.isPending}>
          {labels.provider.use}
        </button>
      </div>
      {using.isSuccess && <p role="status">{labels.provider.used(using.variables)}</p>}
      {using.error && <ErrorNotice action={labels.provider.useAction} error={using.error} />}
    </div>
  );
}
