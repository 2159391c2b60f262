import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { addSchedule, editSchedule } from "../api/calls";
import { keys } from "../api/keys";
import type { AgentStatus, Schedule } from "../api/types";
import { labels } from "../labels";
import { Dialog } from "../ui/Dialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { CheckField, SelectField, TextArea, TextField } from "../ui/Field";
import { fieldErrors } from "../ui/fieldErrors";
import { useDraft } from "../ui/useDraft";
import { addScheduleOf, editScheduleOf, FIELD_NAMES, newScheduleDraft, scheduleDraftOf, scheduleErrors } from "./draft";
import { PatternFields } from "./PatternFields";

interface ScheduleFormProps {
  agents: readonly AgentStatus[];
  /** The schedule to edit; a new one when absent. */
  schedule?: Schedule;
  onClose: () => void;
  onSaved: (saved: Schedule) => void;
}

/** Creates or edits a schedule. */
export function ScheduleForm({ agents, schedule, onClose, onSaved }: ScheduleFormProps) {
  const client = useQueryClient();
  const draft = useDraft(
    `schedule.${schedule?.schedule_id ?? ""}`,
    schedule ? scheduleDraftOf(schedule) : newScheduleDraft(agents[0]?.agent_id ?? ""),
  );
  const { values, change } = draft;
  const [isChecked, setChecked] = useState(false);
  const saving = useMutation({
    mutationFn: () =>
      schedule
        ? editSchedule(schedule.schedule_id, editScheduleOf(values, draft.changes))
        : addSchedule(addScheduleOf(values)),
    onSuccess: async (saved) => {
      draft.discard();
      onSaved(saved);
      await client.invalidateQueries({ queryKey: keys.schedules() });
    },
  });
  const found = scheduleErrors(values, Date.now());
  const refused = fieldErrors(saving.error, FIELD_NAMES);
  const errors = { ...refused.byField, ...(isChecked ? found : {}) };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (Object.keys(found).length === 0) saving.mutate();
  };
  const name = schedule?.schedule_id;
  return (
    <Dialog title={name ? labels.schedule.editTitle(name) : labels.schedule.add} onClose={onClose}>
      <form className="form" onSubmit={submit} noValidate>
        {!name && (
          <SelectField
            label={labels.schedule.agent}
            value={values.agentId}
            onValue={(agentId) => change({ agentId })}
            error={errors.agentId}
            options={agents.map((agent) => [agent.agent_id, agent.agent_id])}
          />
        )}
        <PatternFields draft={values} errors={errors} onChange={change} />
        <TextArea
          label={labels.schedule.message}
          hint={labels.schedule.messageHint}
          value={values.message}
          onValue={(message) => change({ message })}
          error={errors.message}
        />
        <CheckField
          label={labels.schedule.onlyIfChanged}
          hint={labels.schedule.onlyIfChangedHint}
          checked={values.onlyIfChanged}
          onValue={(onlyIfChanged) => change({ onlyIfChanged })}
        />
        {!name && (
          <TextField
            label={labels.schedule.name}
            hint={labels.schedule.nameHint}
            isOptional
            value={values.name}
            onValue={(text) => change({ name: text })}
            error={errors.name}
          />
        )}
        {refused.other !== undefined && (
          <ErrorNotice action={name ? labels.schedule.saveAction : labels.schedule.addAction} error={refused.other} />
        )}
        <div className="form-end">
          <button type="button" className="button" onClick={onClose}>
            {labels.common.cancel}
          </button>
          <button type="submit" className="button primary" disabled={saving.isPending}>
            {saving.isPending ? labels.common.saving : name ? labels.common.save : labels.schedule.create}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
