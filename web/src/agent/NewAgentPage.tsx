import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { addSchedule, createAgent, createSubscription } from "../api/calls";
import { keys } from "../api/keys";
import type { Schedule, Subscription } from "../api/types";
import { labels } from "../labels";
import { addScheduleOf, scheduleErrors } from "../schedule/draft";
import { newPatternDraft } from "../schedule/pattern";
import { ScheduleNote } from "../schedule/ScheduleNote";
import { agentPath, Link, navigate } from "../shell/router";
import { createSubscriptionOf, EMPTY_SUBSCRIPTION, subscriptionErrors } from "../subscription/draft";
import { SubscriptionWarnings } from "../subscription/SubscriptionWarnings";
import { toSentence } from "../text/sentence";
import { ErrorNotice } from "../ui/ErrorNotice";
import { fieldErrors } from "../ui/fieldErrors";
import { useDraft } from "../ui/useDraft";
import { AccessFields } from "./AccessFields";
import { BasicFields } from "./AgentFields";
import { agentErrors, createAgentOf, EMPTY_AGENT, ERROR_NAMES } from "./draft";
import { FirstWake, type WakeDraft } from "./FirstWake";
import { FormEnd } from "./FormEnd";
import { ModelFields } from "./ModelFields";
import { SandboxFields } from "./SandboxFields";

const newWakeDraft = (): WakeDraft => ({
  hasSchedule: false,
  pattern: newPatternDraft(),
  scheduleMessage: "",
  onlyIfChanged: false,
  hasSubscription: false,
  subscription: EMPTY_SUBSCRIPTION,
});

/** Creates an agent with everything it needs. Only its name is required. */
export default function NewAgentPage() {
  const client = useQueryClient();
  const agent = useDraft("agent", EMPTY_AGENT);
  const wake = useDraft("agent-wake", useState(newWakeDraft)[0]);
  const [isChecked, setChecked] = useState(false);
  // What a failed attempt already created is not created again.
  const created = useRef<{ agent: string; schedule?: Schedule; modelWarning?: string }>({ agent: "" });
  const schedule = {
    ...wake.values.pattern,
    agentId: agent.values.name,
    name: "",
    message: wake.values.scheduleMessage,
    onlyIfChanged: wake.values.onlyIfChanged,
  };

  const create = async () => {
    const name = agent.values.name;
    if (created.current.agent !== name) {
      const { model_warning } = await createAgent(createAgentOf(agent.values, agent.changes));
      created.current = { agent: name, modelWarning: model_warning };
    }
    if (wake.values.hasSchedule) created.current.schedule ??= await addSchedule(addScheduleOf(schedule));
    const subscribed = wake.values.hasSubscription
      ? await createSubscription(createSubscriptionOf(name, wake.values.subscription))
      : undefined;
    const { schedule: scheduled, modelWarning } = created.current;
    return { name, subscribed, note: scheduled?.note, modelWarning };
  };
  const creating = useMutation({
    mutationFn: create,
    onSuccess: async (done) => {
      agent.discard();
      wake.discard();
      await client.invalidateQueries({ queryKey: keys.agents() });
      if (!hasNotes(done)) navigate(agentPath(done.name));
    },
  });

  const found = agentErrors(agent.values);
  const inSchedule = wake.values.hasSchedule ? scheduleErrors({ ...schedule, agentId: "any" }, Date.now()) : {};
  const inSubscription = wake.values.hasSubscription ? subscriptionErrors(wake.values.subscription) : {};
  const isCreated = created.current.agent !== "";
  const refused = fieldErrors(creating.error, isCreated ? {} : ERROR_NAMES);
  if (creating.data && hasNotes(creating.data)) return <CreatedWithNotes created={creating.data} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    const all = { ...found, ...inSchedule, ...inSubscription };
    if (Object.keys(all).length === 0) creating.mutate();
  };
  const fields = {
    values: agent.values,
    errors: { ...refused.byField, ...(isChecked ? found : {}) },
    onChange: agent.change,
  };
  return (
    <form className="form agent-form" onSubmit={submit} noValidate>
      <BasicFields {...fields} isNew />
      <ModelFields {...fields} />
      <AccessFields {...fields} />
      <SandboxFields {...fields} />
      <FirstWake
        values={wake.values}
        scheduleErrors={isChecked ? inSchedule : {}}
        subscriptionErrors={isChecked ? inSubscription : {}}
        onChange={wake.change}
      />
      {refused.other !== undefined && (
        <ErrorNotice
          action={isCreated ? labels.agentForm.wakeAction(agent.values.name) : labels.agentForm.addAction}
          error={refused.other}
        />
      )}
      <FormEnd
        isChanged={agent.isChanged || wake.isChanged}
        onDiscard={() => {
          agent.discard();
          wake.discard();
        }}
        isSaving={creating.isPending}
        button={creating.isPending ? labels.agentForm.adding : labels.agentForm.add}
      />
    </form>
  );
}

interface Created {
  name: string;
  subscribed?: Subscription;
  /** When firings of its schedule are skipped. */
  note?: string;
  /** Why its model is not verified. */
  modelWarning?: string;
}

function hasNotes({ subscribed, note, modelWarning }: Created): boolean {
  return modelWarning !== undefined || note !== undefined || (subscribed?.warnings?.length ?? 0) > 0;
}

/** A new agent is complete, but its model, schedule or subscription may not do what is expected: shown before its page. */
function CreatedWithNotes({ created: { name, subscribed, note, modelWarning } }: { created: Created }) {
  return (
    <section className="panel" aria-labelledby="created-title">
      <h2 id="created-title">{labels.agentForm.created(name)}</h2>
      {modelWarning && <p role="status">{toSentence(modelWarning)}</p>}
      {note && <ScheduleNote note={note} />}
      {subscribed?.warnings && subscribed.warnings.length > 0 && (
        <SubscriptionWarnings name={subscribed.subscription_id} warnings={subscribed.warnings} />
      )}
      <p>
        <Link to={agentPath(name)} className="button primary">
          {labels.agentForm.open(name)}
        </Link>
      </p>
    </section>
  );
}
