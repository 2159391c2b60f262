// The color theme: that of the system, until the reader selects another.
import { useState } from "react";

export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "wakeful.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Called before the first render, so that the page does not change color after it is shown. */
export function applyStoredTheme(): void {
  apply(storedTheme());
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme);
  const toggle = () => {
    const next = NEXT[theme];
    if (next === "system") localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, next);
    apply(next);
    setTheme(next);
  };
  return [theme, toggle];
}
