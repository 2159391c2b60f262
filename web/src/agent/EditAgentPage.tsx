import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { setAgentSettings } from "../api/calls";
import { invalidate, keys } from "../api/keys";
import { agentSettingsQuery } from "../api/queries";
import type { AgentSettings } from "../api/types";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { fieldErrors } from "../ui/fieldErrors";
import { Skeleton } from "../ui/Skeleton";
import { useDraft } from "../ui/useDraft";
import { AccessFields } from "./AccessFields";
import { BasicFields } from "./AgentFields";
import { agentDraftOf, agentErrors, ERROR_NAMES, setAgentSettingsOf } from "./draft";
import { FormEnd } from "./FormEnd";
import { ModelFields } from "./ModelFields";
import { SandboxFields } from "./SandboxFields";

/** Edits everything about an agent but its name. */
export default function EditAgentPage({ agentId }: { agentId: string }) {
  const settings = useQuery(agentSettingsQuery(agentId));
  if (settings.data) return <EditAgent settings={settings.data} />;
  return settings.error ? (
    <ErrorNotice
      action={labels.agentForm.loadAction(agentId)}
      error={settings.error}
      onRetry={() => void settings.refetch()}
    />
  ) : (
    <Skeleton lines={12} label={labels.agentForm.loading(agentId)} />
  );
}

function EditAgent({ settings }: { settings: AgentSettings }) {
  const agentId = settings.agent_id;
  const client = useQueryClient();
  const draft = useDraft(`agent.${agentId}`, agentDraftOf(settings));
  const [isChecked, setChecked] = useState(false);
  const saving = useMutation({
    mutationFn: () => setAgentSettings(agentId, setAgentSettingsOf(draft.changes)),
    onSuccess: async (saved) => {
      client.setQueryData(agentSettingsQuery(agentId).queryKey, saved);
      draft.discard();
      await invalidate(client, [keys.agents(), keys.agent(agentId), keys.budget()]);
    },
  });
  const modelWarning = (saved: AgentSettings) => saved.model_warning && toSentence(saved.model_warning);
  const found = agentErrors(draft.values);
  const refused = fieldErrors(saving.error, ERROR_NAMES);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (Object.keys(found).length === 0) saving.mutate();
  };
  const fields = {
    values: draft.values,
    errors: { ...refused.byField, ...(isChecked ? found : {}) },
    onChange: draft.change,
  };
  return (
    <form className="form agent-form" onSubmit={submit} noValidate>
      <BasicFields {...fields} isNew={false} />
      <ModelFields {...fields} />
      <AccessFields {...fields} settings={settings} />
      <SandboxFields {...fields} />
      {refused.other !== undefined && <ErrorNotice action={labels.agentForm.saveAction} error={refused.other} />}
      <FormEnd
        isChanged={draft.isChanged}
        onDiscard={draft.discard}
        isSaving={saving.isPending}
        button={saving.isPending ? labels.common.saving : labels.common.save}
        saved={saving.data && [labels.agentForm.saved, modelWarning(saving.data)].join(" ").trim()}
      />
    </form>
  );
}
