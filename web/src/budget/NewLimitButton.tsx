import { lazy, Suspense, useState } from "react";
import { labels } from "../labels";

const NewLimitDialog = lazy(() => import("./NewLimitDialog"));

/** Opens the dialog that sets a limit on an agent, or on all agents together without one. */
export function NewLimitButton({ agentId }: { agentId?: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setOpen(true)}>
        {labels.budget.newLimit}
      </button>
      <Suspense>{isOpen && <NewLimitDialog agentId={agentId} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
