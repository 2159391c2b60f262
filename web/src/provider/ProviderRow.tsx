import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { removeProviderKey, testProvider } from "../api/calls";
import { invalidate, keys } from "../api/keys";
import type { ModelProvider, ProviderTest } from "../api/types";
import { labels } from "../labels";
import type { Tone } from "../run/text";
import { toSentence } from "../text/sentence";
import { formatDuration } from "../text/time";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { InlineText } from "../ui/InlineText";
import { KeyDialog } from "./KeyDialog";

/** The command at the end of a problem that the button beside it replaces. */
const STORE_KEY = /; store it with `wakeful models key set [^`]+`$/;

/** One provider: whether it can be used, and the buttons that set, remove and test its key. */
export function ProviderRow({ provider }: { provider: ModelProvider }) {
  const [open, setOpen] = useState<"key" | "remove">();
  const client = useQueryClient();
  const { name } = provider;
  const testing = useMutation({ mutationFn: () => testProvider(name) });
  const refresh = () => invalidate(client, [keys.providers(), keys.models()]);
  const state = stateOf(provider);
  const close = () => setOpen(undefined);
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>{name}</h2>
        <Badge tone={state.tone}>{state.text}</Badge>
      </div>
      <p className="entry-facts">
        <code>{provider.base_url}</code>
        {provider.default_model && <span>{labels.provider.defaultModel(provider.default_model)}</span>}
        {provider.key_handle && (
          <span>
            {labels.provider.handle} <code>{provider.key_handle}</code>
          </span>
        )}
      </p>
      {provider.problem && (
        <p className="quiet">
          <InlineText text={toSentence(provider.problem.replace(STORE_KEY, ""))} />
        </p>
      )}
      <div className="entry-actions">
        <button
          type="button"
          className="button"
          aria-label={labels.provider.with(labels.provider.setKey, name)}
          onClick={() => setOpen("key")}
        >
          {provider.has_key ? labels.provider.replaceKey : labels.provider.setKey}
        </button>
        <button
          type="button"
          className="button"
          aria-label={labels.provider.with(labels.provider.test, name)}
          onClick={() => testing.mutate()}
          disabled={testing.isPending}
        >
          {testing.isPending ? labels.provider.testing : labels.provider.test}
        </button>
        {provider.has_key && (
          <button
            type="button"
            className="button"
            aria-label={labels.provider.with(labels.provider.removeKey, name)}
            onClick={() => setOpen("remove")}
          >
            {labels.provider.removeKey}
          </button>
        )}
      </div>
      {testing.data && <TestResult test={testing.data} />}
      {testing.error && <ErrorNotice action={labels.provider.testAction(name)} error={testing.error} />}
      {open === "key" && <KeyDialog provider={provider} onClose={close} onStored={refresh} />}
      {open === "remove" && (
        <ConfirmDialog
          title={labels.provider.removeTitle(name)}
          hint={labels.provider.removeHint}
          button={labels.provider.removeKey}
          action={labels.provider.removeAction}
          onConfirm={() => removeProviderKey(name).then(refresh)}
          onClose={close}
        />
      )}
    </li>
  );
}

function stateOf(provider: ModelProvider): { text: string; tone: Tone } {
  const { found, local, missing, none } = labels.provider.states;
  if (provider.has_key) return { text: found, tone: "good" };
  if (provider.needs_key) return { text: missing, tone: "warn" };
  // Only a test shows whether a server that a person configured refuses requests without a key.
  return { text: provider.is_built_in ? local : none, tone: "quiet" };
}

/** The result of a test: what happened, and what to do next. */
export function TestResult({ test }: { test: ProviderTest }) {
  return (
    <p className={test.is_ok ? "good-text" : "wrong"} role="status">
      <InlineText text={toSentence(test.message)} /> {test.hint && <InlineText text={toSentence(test.hint)} />}{" "}
      <span className="quiet">{formatDuration(test.duration_ms)}</span>
    </p>
  );
}
