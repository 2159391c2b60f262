import { useEffect } from "react";
import { labels } from "../labels";

/** Sets the title of the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = labels.shell.tabTitle(title);
  }, [title]);
}
