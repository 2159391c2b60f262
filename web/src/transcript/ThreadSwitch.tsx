import { useId } from "react";
import type { Thread } from "../api/types";
import { labels } from "../labels";
import { navigate, threadPath } from "../shell/router";
import { Icon } from "../ui/Icon";
import { newThread, threadOptions } from "./thread";

interface ThreadSwitchProps {
  agentId: string;
  chosen: string;
  threads: readonly Thread[];
}

/** Chooses the conversation that is shown, or begins a new one. The choice is part of the address. */
export function ThreadSwitch({ agentId, chosen, threads }: ThreadSwitchProps) {
  const id = useId();
  const options = threadOptions(threads, chosen);
  return (
    <div className="thread-switch">
      {options.length > 1 && (
        <>
          <label htmlFor={id} className="hidden">
            {labels.thread.choose}
          </label>
          <select id={id} value={chosen} onChange={(event) => navigate(threadPath(agentId, event.target.value))}>
            {options.map(([thread, text]) => (
              <option key={thread} value={thread}>
                {text}
              </option>
            ))}
          </select>
        </>
      )}
      <button type="button" className="button small" onClick={() => navigate(threadPath(agentId, newThread()))}>
        <Icon name="plus" /> {labels.thread.new}
      </button>
    </div>
  );
}
