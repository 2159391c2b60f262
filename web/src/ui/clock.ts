// The timer of components whose behaviour depends on time, so that a test can move the time by hand.
import { createContext } from "react";

export interface Clock {
  /** Calls back after a time; the returned function cancels it. */
  after: (ms: number, callback: () => void) => () => void;
}

const browserClock: Clock = {
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export const ClockContext = createContext(browserClock);
