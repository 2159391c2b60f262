import { useState } from "react";
import { type Display, storeDisplay, storedDisplay } from "./level";

/** The selected level, stored for the next visit. */
export function useDisplay(): [Display, (display: Display) => void] {
  const [display, setDisplay] = useState(storedDisplay);
  const choose = (next: Display) => {
    storeDisplay(next);
    setDisplay(next);
  };
  return [display, choose];
}
