import { labels } from "../labels";
import { PatternFields } from "../schedule/PatternFields";
import type { PatternDraft, PatternErrors } from "../schedule/pattern";
import type { SubscriptionDraft } from "../subscription/draft";
import { SubscriptionFields } from "../subscription/SubscriptionFields";
import { CheckField, TextArea } from "../ui/Field";

/** The first schedule and the first subscription of a new agent, if a person wants any. */
export interface WakeDraft {
  hasSchedule: boolean;
  pattern: PatternDraft;
  scheduleMessage: string;
  onlyIfChanged: boolean;
  hasSubscription: boolean;
  subscription: SubscriptionDraft;
}

interface FirstWakeProps {
  values: WakeDraft;
  scheduleErrors: PatternErrors & { message?: string };
  subscriptionErrors: Partial<Record<keyof SubscriptionDraft, string>>;
  onChange: (change: Partial<WakeDraft>) => void;
}

export function FirstWake({ values, scheduleErrors, subscriptionErrors, onChange }: FirstWakeProps) {
  return (
    <section className="panel form-section" aria-labelledby="wakes-title">
      <h2 id="wakes-title">{labels.agentForm.wakes}</h2>
      <p className="quiet">{labels.agentForm.wakesHint}</p>
      <CheckField
        label={labels.agentForm.firstSchedule}
        checked={values.hasSchedule}
        onValue={(hasSchedule) => onChange({ hasSchedule })}
      />
      {values.hasSchedule && (
        <div className="form nested">
          <PatternFields
            draft={values.pattern}
            errors={scheduleErrors}
            onChange={(change) => onChange({ pattern: { ...values.pattern, ...change } })}
          />
          <TextArea
            label={labels.schedule.message}
            hint={labels.schedule.messageHint}
            value={values.scheduleMessage}
            onValue={(scheduleMessage) => onChange({ scheduleMessage })}
            error={scheduleErrors.message}
          />
          <CheckField
            label={labels.schedule.onlyIfChanged}
            hint={labels.schedule.onlyIfChangedHint}
            checked={values.onlyIfChanged}
            onValue={(onlyIfChanged) => onChange({ onlyIfChanged })}
          />
        </div>
      )}
      <CheckField
        label={labels.agentForm.firstSubscription}
        checked={values.hasSubscription}
        onValue={(hasSubscription) => onChange({ hasSubscription })}
      />
      {values.hasSubscription && (
        <div className="form nested">
          <SubscriptionFields
            values={values.subscription}
            errors={subscriptionErrors}
            onChange={(change) => onChange({ subscription: { ...values.subscription, ...change } })}
          />
        </div>
      )}
    </section>
  );
}
