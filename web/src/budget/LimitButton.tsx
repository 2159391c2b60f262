import { lazy, Suspense, useState } from "react";
import type { BudgetLimit } from "../api/types";
import { labels } from "../labels";

const LimitDialog = lazy(() => import("./LimitDialog"));

/** Opens the dialog that changes or removes a limit. */
export function LimitButton({ limit }: { limit: BudgetLimit }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setOpen(true)}>
        {labels.budget.changeLimit}
      </button>
      <Suspense>{isOpen && <LimitDialog limit={limit} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
