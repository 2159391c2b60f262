// Times and durations.

export const time = {
  ago: (duration: string) => `${duration} ago`,
  days: (count: number) => `${count} days`,
  hours: (count: number) => `${count} h`,
  in: (duration: string) => `in ${duration}`,
  justNow: "just now",
  milliseconds: (count: number) => `${count} ms`,
  minutes: (count: number) => `${count} min`,
  now: "now",
  onDay: (clock: string, day: string) => `${clock} on ${day}`,
  seconds: (count: number | string) => `${count} s`,
  soon: "in less than a minute",
  unknown: "at an unknown time",
  yesterday: "yesterday",
};
