// When a schedule fires: as text, and as the fields of a form.
import type { NewPattern, Schedule, SchedulePattern } from "../api/types";
import { labels } from "../labels";

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
const UNITS_S = [DAY_S, HOUR_S, MINUTE_S] as const;

/** When a schedule fires, in plain language where the pattern is a common one. */
export function patternText({ cron, time_zone: zone, interval_seconds: seconds, at }: SchedulePattern): string {
  if (cron) return cronText(cron.trim(), zone ?? "UTC");
  if (seconds) return labels.pattern.every(intervalText(seconds));
  return at ? labels.pattern.once(new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })) : "";
}

function intervalText(seconds: number): string {
  const unit = UNITS_S.find((one) => seconds % one === 0);
  if (unit === undefined) return labels.time.seconds(seconds);
  const count = seconds / unit;
  const name = labels.schedule.units[unit] ?? "";
  return count === 1 ? name.slice(0, -1) : `${count} ${name}`;
}

function cronText(cron: string, zone: string): string {
  const { daily, everyHour, everyMinutes } = labels.pattern;
  const [minute = "", hour = "", day = "", month = "", weekday = "", ...more] = cron.split(/\s+/);
  const days = more.length === 0 && month === "*" ? daysText(day, weekday) : undefined;
  if (days === undefined) return labels.pattern.cron(cron, zone);
  if (/^\d+$/.test(minute) && /^\d+$/.test(hour)) return daily(days, `${pad(hour)}:${pad(minute)}`, zone);
  const isEveryDay = day === "*" && weekday === "*";
  if (isEveryDay && hour === "*" && /^\d+$/.test(minute)) return everyHour(pad(minute), zone);
  const [, step] = /^\*\/(\d+)$/.exec(minute) ?? [];
  return isEveryDay && hour === "*" && step ? everyMinutes(step) : labels.pattern.cron(cron, zone);
}

/** The days of a pattern; undefined where they cannot be said in a few words. */
function daysText(day: string, weekday: string): string | undefined {
  if (day !== "*") return weekday === "*" && /^\d+$/.test(day) ? labels.pattern.monthDay(day) : undefined;
  if (weekday === "*") return labels.pattern.everyDay;
  if (/^(1-5|mon-fri)$/i.test(weekday)) return labels.pattern.weekdays;
  return /^[0-7]$/.test(weekday) ? labels.pattern.days[Number(weekday) % 7] : undefined;
}

const pad = (digits: string) => digits.padStart(2, "0");

export type PatternKind = "every" | "cron" | "at";

/** The fields of the form that say when a schedule fires. */
export interface PatternDraft {
  kind: PatternKind;
  everyCount: string;
  /** In seconds. */
  everyUnit: string;
  cron: string;
  timeZone: string;
  /** The value of the browser's input, in its own time zone. */
  at: string;
}

export function newPatternDraft(): PatternDraft {
  return {
    kind: "every",
    everyCount: "1",
    everyUnit: String(DAY_S),
    cron: "",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    at: "",
  };
}

export function patternDraftOf({ pattern }: Schedule): PatternDraft {
  const draft = newPatternDraft();
  if (pattern.cron) return { ...draft, kind: "cron", cron: pattern.cron, timeZone: pattern.time_zone ?? "UTC" };
  if (pattern.at) return { ...draft, kind: "at", at: localInput(pattern.at) };
  const seconds = pattern.interval_seconds ?? DAY_S;
  const unit = UNITS_S.find((one) => seconds % one === 0) ?? MINUTE_S;
  return { ...draft, everyCount: String(seconds / unit), everyUnit: String(unit) };
}

/** A time as the browser's input writes it: local, without a zone. */
function localInput(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_S * 1_000).toISOString().slice(0, 16);
}

export type PatternErrors = Partial<Record<keyof PatternDraft, string>>;

/** What is wrong with the fields; empty when they are valid. */
export function patternErrors(draft: PatternDraft, now: number): PatternErrors {
  const { errors } = labels.pattern;
  if (draft.kind === "every") return /^[1-9]\d{0,6}$/.test(draft.everyCount.trim()) ? {} : { everyCount: errors.every };
  if (draft.kind === "at") return Date.parse(draft.at) > now ? {} : { at: errors.at };
  return {
    ...(/^(@[a-z]+|\S+(\s+\S+){4,5})$/.test(draft.cron.trim()) ? {} : { cron: errors.cron }),
    ...(draft.timeZone.trim() === "" ? { timeZone: errors.timeZone } : {}),
  };
}

export function patternOf(draft: PatternDraft): NewPattern {
  if (draft.kind === "cron") return { cron: draft.cron.trim(), time_zone: draft.timeZone.trim() };
  if (draft.kind === "at") return { at: new Date(draft.at).toISOString() };
  return { interval_seconds: Number(draft.everyCount) * Number(draft.everyUnit) };
}
