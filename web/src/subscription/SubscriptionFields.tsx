import { labels } from "../labels";
import { TextArea, TextField } from "../ui/Field";
import type { SubscriptionDraft } from "./draft";

interface SubscriptionFieldsProps {
  values: SubscriptionDraft;
  errors: Partial<Record<keyof SubscriptionDraft, string>>;
  onChange: (change: Partial<SubscriptionDraft>) => void;
}

const { subscription } = labels;

/** The fields of a subscription. */
export function SubscriptionFields({ values, errors, onChange }: SubscriptionFieldsProps) {
  const field = (name: keyof SubscriptionDraft) => ({
    value: values[name],
    error: errors[name],
    onValue: (text: string) => onChange({ [name]: text }),
  });
  return (
    <>
      <TextField
        label={subscription.any}
        hint={subscription.anyHint}
        placeholder={subscription.anyExample}
        {...field("any")}
      />
      <TextField label={subscription.all} hint={subscription.allHint} isOptional {...field("all")} />
      <TextField label={subscription.where} hint={subscription.whereHint} isOptional {...field("where")} />
      <TextArea label={subscription.message} hint={subscription.messageHint} isOptional {...field("message")} />
      <div className="fields">
        <TextField
          label={subscription.cooldown}
          hint={subscription.cooldownHint}
          isOptional
          inputMode="numeric"
          {...field("cooldown")}
        />
        <TextField
          label={subscription.debounce}
          hint={subscription.debounceHint}
          isOptional
          inputMode="numeric"
          {...field("debounce")}
        />
      </div>
      <TextField label={subscription.name} hint={subscription.nameHint} isOptional {...field("name")} />
    </>
  );
}
