import { useEffect } from "react";

/** The tab's title, so that a row of tabs can be told apart. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Wakeful`;
  }, [title]);
}
