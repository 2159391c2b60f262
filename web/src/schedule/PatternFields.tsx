import { labels } from "../labels";
import { Choice, SelectField, TextField } from "../ui/Field";
import type { PatternDraft, PatternErrors, PatternKind } from "./pattern";

const KINDS: readonly PatternKind[] = ["every", "cron", "at"];
const ZONES_ID = "time-zones";

interface PatternFieldsProps {
  draft: PatternDraft;
  errors: PatternErrors;
  onChange: (change: Partial<PatternDraft>) => void;
}

/** The fields that say when a schedule fires. */
export function PatternFields({ draft, errors, onChange }: PatternFieldsProps) {
  return (
    <>
      <Choice
        label={labels.schedule.when}
        value={draft.kind}
        onValue={(kind) => onChange({ kind })}
        options={KINDS.map((kind) => [kind, labels.schedule.whenKinds[kind]])}
      />
      {draft.kind === "every" && (
        <div className="fields">
          <TextField
            label={labels.schedule.everyCount}
            value={draft.everyCount}
            onValue={(everyCount) => onChange({ everyCount })}
            error={errors.everyCount}
            inputMode="numeric"
          />
          <SelectField
            label={labels.schedule.everyUnit}
            value={draft.everyUnit}
            onValue={(everyUnit) => onChange({ everyUnit })}
            options={Object.entries(labels.schedule.units)}
          />
        </div>
      )}
      {draft.kind === "cron" && (
        <>
          <TextField
            label={labels.schedule.cron}
            hint={labels.schedule.cronHint}
            value={draft.cron}
            onValue={(cron) => onChange({ cron })}
            error={errors.cron}
            placeholder="0 9 * * 1-5"
          />
          <TextField
            label={labels.schedule.timeZone}
            hint={labels.schedule.timeZoneHint}
            value={draft.timeZone}
            onValue={(timeZone) => onChange({ timeZone })}
            error={errors.timeZone}
            list={ZONES_ID}
          />
          <datalist id={ZONES_ID}>
            {Intl.supportedValuesOf("timeZone").map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
      {draft.kind === "at" && (
        <TextField
          label={labels.schedule.at}
          hint={labels.schedule.atHint}
          type="datetime-local"
          value={draft.at}
          onValue={(at) => onChange({ at })}
          error={errors.at}
        />
      )}
    </>
  );
}
