import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { disableSchedule, pauseSchedule, resumeSchedule } from "../api/calls";
import { keys } from "../api/keys";
import { executionsQuery } from "../api/queries";
import type { AgentStatus, Schedule } from "../api/types";
import { labels } from "../labels";
import type { Tone } from "../run/text";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { Badge } from "../ui/Badge";
import { ConfirmDialog } from "../ui/ConfirmDialog";
import { ErrorNotice } from "../ui/ErrorNotice";
import { Time } from "../ui/Time";
import { executionText } from "./execution";
import { patternText } from "./pattern";
import { RunNow } from "./RunNow";
import { ScheduleForm } from "./ScheduleForm";
import { ScheduleHistory } from "./ScheduleHistory";
import { ScheduleNote } from "./ScheduleNote";

const MESSAGE_CHARS_MAX = 160;

const TONES: Record<Schedule["status"], Tone> = { active: "good", paused: "warn", disabled: "quiet", expired: "quiet" };

interface ScheduleRowProps {
  schedule: Schedule;
  agents: readonly AgentStatus[];
  onSaved: (saved: Schedule) => void;
}

/** One schedule: what it does and when, and the buttons that change it. */
export function ScheduleRow({ schedule, agents, onSaved }: ScheduleRowProps) {
  const [open, setOpen] = useState<"edit" | "disable">();
  const [isHistoryOpen, setHistoryOpen] = useState(false);
  const client = useQueryClient();
  const historyId = useId();
  const name = schedule.schedule_id;
  const refresh = () => client.invalidateQueries({ queryKey: keys.schedules() });
  const isPaused = schedule.status === "paused";
  const isLive = isPaused || schedule.status === "active";
  const verb = isPaused ? labels.schedule.resume : labels.schedule.pause;
  const toggling = useMutation({
    mutationFn: () => (isPaused ? resumeSchedule(name) : pauseSchedule(name)),
    onSuccess: refresh,
  });
  const close = () => setOpen(undefined);
  return (
    <li className="entry panel">
      <div className="entry-head">
        <h2>{schedule.label}</h2>
        <Badge tone={TONES[schedule.status]}>{labels.schedule.statuses[schedule.status]}</Badge>
        <Link to={agentPath(schedule.agent_id)}>{schedule.agent_id}</Link>
      </div>
      <p>{patternText(schedule.pattern)}</p>
      {schedule.message.trim() !== "" && (
        <p className="quiet">{labels.common.quote(oneLine(schedule.message, MESSAGE_CHARS_MAX))}</p>
      )}
      <Times schedule={schedule} />
      {schedule.note && <ScheduleNote note={schedule.note} />}
      <div className="entry-actions">
        {isLive && <RunNow scheduleId={name} />}
        {isLive && (
          <>
            <Button verb={verb} name={name} onPress={() => toggling.mutate()} isBusy={toggling.isPending} />
            <Button verb={labels.schedule.edit} name={name} onPress={() => setOpen("edit")} />
          </>
        )}
        <button
          type="button"
          className="button"
          aria-label={labels.schedule.with(labels.schedule.history, name)}
          aria-expanded={isHistoryOpen}
          aria-controls={historyId}
          onClick={() => setHistoryOpen(!isHistoryOpen)}
        >
          {labels.schedule.history}
        </button>
        {isLive && <Button verb={labels.schedule.disable} name={name} onPress={() => setOpen("disable")} />}
      </div>
      {toggling.error && <ErrorNotice action={labels.schedule.action(verb)} error={toggling.error} />}
      <div id={historyId}>{isHistoryOpen && <ScheduleHistory schedule={schedule} />}</div>
      {open === "edit" && (
        <ScheduleForm
          agents={agents}
          schedule={schedule}
          onClose={close}
          onSaved={(saved) => {
            close();
            onSaved(saved);
          }}
        />
      )}
      {open === "disable" && (
        <ConfirmDialog
          title={labels.schedule.disableTitle(name)}
          hint={labels.schedule.disableHint(schedule.agent_id)}
          button={labels.schedule.disableButton}
          action={labels.schedule.action(labels.schedule.disable)}
          onConfirm={() => disableSchedule(name).then(refresh)}
          onClose={close}
        />
      )}
    </li>
  );
}

interface ButtonProps {
  verb: string;
  name: string;
  onPress: () => void;
  isBusy?: boolean;
}

function Button({ verb, name, onPress, isBusy = false }: ButtonProps) {
  return (
    <button
      type="button"
      className="button"
      aria-label={labels.schedule.with(verb, name)}
      onClick={onPress}
      disabled={isBusy}
    >
      {verb}
    </button>
  );
}

/** The next firing, and the newest one with its run. */
function Times({ schedule: { agent_id: agentId, status, ...schedule } }: { schedule: Schedule }) {
  const hasFired = schedule.last_execution_at !== undefined;
  const last = useQuery({ ...executionsQuery(schedule.schedule_id), enabled: hasFired }).data?.[0];
  return (
    <p className="entry-facts">
      {schedule.next_execution_at && status === "active" && (
        <span>
          {labels.schedule.next} <Time at={schedule.next_execution_at} isFuture />
        </span>
      )}
      {schedule.last_execution_at && (
        <span>
          {labels.schedule.last} <Time at={schedule.last_execution_at} />
          {last && `, ${executionText(last).toLowerCase()}`}
        </span>
      )}
      {/* A firing that has not started yet has no run to show. */}
      {last?.run_key && last.run_status && <Link to={runPath(agentId, last.run_key)}>{labels.schedule.viewRun}</Link>}
    </p>
  );
}
