import { useState } from "react";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { RetryDialog } from "./RetryDialog";
import { isRetryable } from "./text";

interface RunFromHereProps {
  run: Run;
  stepId: string;
  /** What the step is, so that the buttons of all steps have different names. */
  name: string;
}

/** Runs an ended run again from one of its steps. */
export function RunFromHere({ run, stepId, name }: RunFromHereProps) {
  const [isOpen, setOpen] = useState(false);
  if (!isRetryable(run.outcome)) return null;
  return (
    <>
      <button
        type="button"
        className="button small step-again"
        aria-label={labels.retryFrom.of(name)}
        onClick={() => setOpen(true)}
      >
        <Icon name="again" /> {labels.retryFrom.title}
      </button>
      {isOpen && <RetryDialog run={run} stepId={stepId} onClose={() => setOpen(false)} />}
    </>
  );
}
