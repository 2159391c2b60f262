// The fields of the form for schedules.
import type { AddSchedule, EditSchedule, Schedule } from "../api/types";
import { labels } from "../labels";
import {
  newPatternDraft,
  type PatternDraft,
  type PatternErrors,
  patternDraftOf,
  patternErrors,
  patternOf,
} from "./pattern";

export interface ScheduleDraft extends PatternDraft {
  agentId: string;
  name: string;
  message: string;
  onlyIfChanged: boolean;
}

type Errors = PatternErrors & Partial<Record<keyof ScheduleDraft, string>>;

/** The names of the fields in the API contract, and in the form. */
export const FIELD_NAMES = {
  agent_id: "agentId",
  schedule_id: "name",
  message: "message",
  cron: "cron",
  pattern: "cron",
  time_zone: "timeZone",
  interval_seconds: "everyCount",
  at: "at",
} as const satisfies Record<string, keyof ScheduleDraft>;

export function newScheduleDraft(agentId: string): ScheduleDraft {
  return { ...newPatternDraft(), agentId, name: "", message: "", onlyIfChanged: false };
}

export function scheduleDraftOf(schedule: Schedule): ScheduleDraft {
  const { agent_id: agentId, schedule_id: name, message, always } = schedule;
  return { ...patternDraftOf(schedule), agentId, name, message, onlyIfChanged: !always };
}

/** What is wrong with the fields; empty when they are valid. */
export function scheduleErrors(draft: ScheduleDraft, now: number): Errors {
  return {
    ...patternErrors(draft, now),
    ...(draft.agentId === "" ? { agentId: labels.pattern.errors.agent } : {}),
    ...(draft.message.trim() === "" ? { message: labels.pattern.errors.message } : {}),
  };
}

export function addScheduleOf(draft: ScheduleDraft): AddSchedule {
  return {
    agent_id: draft.agentId,
    ...(draft.name.trim() === "" ? {} : { schedule_id: draft.name.trim() }),
    pattern: patternOf(draft),
    message: draft.message.trim(),
    always: !draft.onlyIfChanged,
  };
}

/** The changes of a form. A pattern that is sent starts a new revision, so it is sent only when it changed. */
export function editScheduleOf(draft: ScheduleDraft, changes: Partial<ScheduleDraft>): EditSchedule {
  const { agentId, name, message, onlyIfChanged, ...pattern } = changes;
  return {
    ...(Object.keys(pattern).length === 0 ? {} : { pattern: patternOf(draft) }),
    ...(message === undefined ? {} : { message: message.trim() }),
    ...(onlyIfChanged === undefined ? {} : { always: !onlyIfChanged }),
  };
}
