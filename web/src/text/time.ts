// Times and durations as people say them.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago or how soon, in words. Clocks of browser and server may differ a little, so the near future is now. */
export function when(iso: string, now: number): string {
  const moment = Date.parse(iso);
  if (Number.isNaN(moment)) return "at an unknown time";
  const away = Math.abs(now - moment);
  if (away >= 14 * DAY) return new Date(iso).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
  if (moment > now) return away < MINUTE ? "just now" : until(away);
  if (away < 10 * SECOND) return "just now";
  return away >= DAY && away < 2 * DAY ? "yesterday" : `${coarse(away)} ago`;
}

function until(away: number): string {
  return away >= DAY && away < 2 * DAY ? "tomorrow" : `in ${coarse(away)}`;
}

function coarse(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} days`;
}

/** The moment itself, for those who want to know exactly. */
export function exact(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString("en", { dateStyle: "full", timeStyle: "long" });
}

/** A moment of today or tomorrow by the clock on the wall: "01:00", with the day where it is another one. */
export function clock(iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const time = date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const isToday = date.toDateString() === new Date(now).toDateString();
  return isToday ? time : `${time} on ${date.toLocaleDateString("en", { weekday: "long" })}`;
}

/** A day of the calendar, such as "2026-11-15", as people write it; the same day wherever the reader is. */
export function dayWords(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return day;
  return date.toLocaleDateString("en", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
}

/** A duration with no more precision than anybody reads. */
export function lasting(ms: number): string {
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
