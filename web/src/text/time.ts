// Times and durations as people say them.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, in words. Clocks of browser and server may differ, so what is said to be past and is not yet is now. */
export function formatAgo(iso: string, now: number): string {
  const passed = now - Date.parse(iso);
  if (Number.isNaN(passed)) return "at an unknown time";
  if (passed < 10 * SECOND) return "just now";
  if (passed >= 14 * DAY) return day(iso);
  return passed >= DAY && passed < 2 * DAY ? "yesterday" : `${coarse(passed, DAY)} ago`;
}

/** How soon, in words, of what is to come, such as a deadline. */
export function formatUntil(iso: string, now: number): string {
  const left = Date.parse(iso) - now;
  if (Number.isNaN(left)) return "at an unknown time";
  if (left <= 0) return "now";
  if (left < MINUTE) return "in less than a minute";
  // In hours for two days: "tomorrow" is no answer to how long one may think.
  return left >= 14 * DAY ? day(iso) : `in ${coarse(left, 2 * DAY)}`;
}

function day(iso: string): string {
  return new Date(iso).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

/** In the largest unit that fits; in hours below `days`. */
function coarse(ms: number, days: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < days) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} days`;
}

/** The moment itself, for those who want to know exactly. */
export function formatExact(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString("en", { dateStyle: "full", timeStyle: "long" });
}

/** A moment of today or tomorrow by the clock on the wall: "01:00", with the day where it is another one. */
export function formatClock(iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const time = date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const isToday = date.toDateString() === new Date(now).toDateString();
  return isToday ? time : `${time} on ${date.toLocaleDateString("en", { weekday: "long" })}`;
}

/** A day of the calendar, such as "2026-11-15", as people write it; the same day wherever the reader is. */
export function formatDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return day;
  return date.toLocaleDateString("en", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
}

/** A duration with no more precision than anybody reads. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${ms} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, "min", SECOND, "s");
  return pair(ms, HOUR, "h", MINUTE, "min");
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}
