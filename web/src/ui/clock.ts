// The timer of components whose behaviour depends on time, so that a test can move the time by hand.
import { createContext } from "react";

export interface Clock {
  /** Runs a function after a time; the returned function cancels it. */
  after: (ms: number, run: () => void) => () => void;
}

const browserClock: Clock = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export const ClockContext = createContext(browserClock);
