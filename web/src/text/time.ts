// Times and durations as text.
import { labels } from "../labels";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago something was. The clocks of browser and server may differ, so a future time counts as now. */
export function formatAgo(iso: string, now: number): string {
  const passed = now - Date.parse(iso);
  if (Number.isNaN(passed)) return labels.time.unknown;
  if (passed < 10 * SECOND) return labels.time.justNow;
  if (passed >= 14 * DAY) return formatDate(iso);
  return passed >= DAY && passed < 2 * DAY ? labels.time.yesterday : labels.time.ago(largestUnit(passed, DAY));
}

/** How long until a future time, such as a deadline. */
export function formatUntil(iso: string, now: number): string {
  const left = Date.parse(iso) - now;
  if (Number.isNaN(left)) return labels.time.unknown;
  if (left <= 0) return labels.time.now;
  if (left < MINUTE) return labels.time.soon;
  // In hours for two days: "tomorrow" does not say how much time is left.
  return left >= 14 * DAY ? formatDate(iso) : labels.time.in(largestUnit(left, 2 * DAY));
}

function formatDate(iso: string): string {
  return new Date(iso).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

/** In the largest unit that fits, and in hours below `daysFrom`. */
function largestUnit(ms: number, daysFrom: number): string {
  if (ms < MINUTE) return labels.time.seconds(Math.floor(ms / SECOND));
  if (ms < HOUR) return labels.time.minutes(Math.floor(ms / MINUTE));
  if (ms < daysFrom) return labels.time.hours(Math.floor(ms / HOUR));
  return labels.time.days(Math.floor(ms / DAY));
}

/** The exact time, for a tooltip. */
export function formatExact(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString("en", { dateStyle: "full", timeStyle: "long" });
}

/** The time of day, "01:00", followed by the weekday where it is not today. */
export function formatClock(iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const time = date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const isToday = date.toDateString() === new Date(now).toDateString();
  return isToday ? time : labels.time.onDay(time, date.toLocaleDateString("en", { weekday: "long" }));
}

/** A calendar day such as "2026-11-15"; the same day in every time zone. */
export function formatDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return day;
  return date.toLocaleDateString("en", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
}

/** A duration in at most two units. */
export function formatDuration(ms: number): string {
  const { milliseconds, seconds, minutes, hours } = labels.time;
  if (ms < SECOND) return milliseconds(ms);
  if (ms < 10 * SECOND) return seconds((ms / SECOND).toFixed(1));
  if (ms < MINUTE) return seconds(Math.round(ms / SECOND));
  const [large, small] =
    ms < HOUR
      ? [minutes(Math.floor(ms / MINUTE)), Math.floor((ms % MINUTE) / SECOND)]
      : [hours(Math.floor(ms / HOUR)), Math.floor((ms % HOUR) / MINUTE)];
  if (small === 0) return large;
  return `${large} ${ms < HOUR ? seconds(small) : minutes(small)}`;
}
