// Clocks for tests.
import type { Clock } from "./clock";

/** A clock on which no time has to pass: buttons are armed at once. */
export const instantClock: Clock = {
  after: (_ms, run) => {
    run();
    return () => {};
  },
};

/** A clock that a test moves by hand, and the function that moves it and calls what is due. */
export function handClock(): { clock: Clock; pass: (ms: number) => void } {
  let timers: { at: number; run: () => void }[] = [];
  let now = 0;
  const clock: Clock = {
    after: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
  };
  const pass = (ms: number) => {
    now += ms;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter((one) => !due.includes(one));
    for (const { run } of due) run();
  };
  return { clock, pass };
}
