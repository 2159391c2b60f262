import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { agentsQuery, runtimeQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";

const STORAGE_KEY = "wakeful.demo-notice";

/** Says that replies come from a script and not from a model, where an agent uses it and until the reader dismisses it. */
export function DemoNotice() {
  const agents = useQuery(agentsQuery).data;
  const model = useQuery(runtimeQuery).data?.model;
  const [stored, setStored] = useState(() => localStorage.getItem(STORAGE_KEY));
  const isUsed = agents && model?.is_demo && (agents.length === 0 || agents.some((one) => !one.model));
  useEffect(() => {
    if (isUsed === undefined || stored === "dismissed") return;
    if (isUsed) localStorage.setItem(STORAGE_KEY, "shown");
    else localStorage.removeItem(STORAGE_KEY);
  }, [isUsed, stored]);
  // While it is unknown, the last state counts, so that the page does not move when the answer arrives.
  if (stored === "dismissed" || !(isUsed ?? stored === "shown")) return null;
  const dismiss = () => {
    localStorage.setItem(STORAGE_KEY, "dismissed");
    setStored("dismissed");
  };
  return (
    <aside className="notice" aria-label={labels.shell.about}>
      <Icon name="spark" />
      <p>
        <b>{labels.shell.demo}</b> {labels.shell.demoHint}
      </p>
      <button type="button" className="icon-button" aria-label={labels.shell.demoDismiss} onClick={dismiss}>
        <Icon name="cross" />
      </button>
    </aside>
  );
}
