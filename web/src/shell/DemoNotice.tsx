import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { agentsQuery } from "../api/queries";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";

const STORAGE_KEY = "wakeful.demo-notice";

/** Says that replies come from a script and not from a model, where an agent uses it and until the reader dismisses it. */
export function DemoNotice() {
  const agents = useQuery(agentsQuery).data;
  const [isDismissed, setDismissed] = useState(() => localStorage.getItem(STORAGE_KEY) === "dismissed");
  const isUsed = agents && (agents.length === 0 || agents.some((agent) => agent.model === undefined));
  if (isDismissed || !isUsed) return null;
  const dismiss = () => {
    localStorage.setItem(STORAGE_KEY, "dismissed");
    setDismissed(true);
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
