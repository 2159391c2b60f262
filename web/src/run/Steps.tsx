import { useQueries } from "@tanstack/react-query";
import { runQuery } from "../api/queries";
import type { Run } from "../api/types";
import { labels } from "../labels";
import { formatDuration } from "../text/time";
import { useNow } from "../text/useNow";
import { ModelText } from "../ui/ModelText";
import { ActionView } from "./ActionView";
import { RoundView } from "./RoundView";
import { itemsOf } from "./round";
import { type Waterfall, waterfallOf } from "./waterfall";

/** The steps of a run in order: when each ran, what it did, which rule allowed it, and its usage. */
export function Steps({ run, live }: { run: Run; live: string }) {
  const now = useNow();
  const children = useQueries({ queries: (run.children ?? []).map((child) => runQuery(child.run_key)) });
  const loaded = children.flatMap((child) => child.data ?? []);
  const waterfall = waterfallOf(run, loaded, now);
  return (
    <section className="panel" aria-labelledby="steps-title">
      <header className="panel-head">
        <h2 id="steps-title">{labels.step.title}</h2>
        {run.steps.length > 0 && (
          <span className="quiet">{labels.waterfall.total(formatDuration(waterfall.totalMs))}</span>
        )}
      </header>
      {run.steps.length === 0 && <p className="quiet">{labels.step.none}</p>}
      <StepList run={run} isSubRun={false} waterfall={waterfall} />
      {live !== "" && (
        <div className="live step-live">
          <ModelText text={live} />
        </div>
      )}
    </section>
  );
}

/** The steps of one run; those of a sub-run follow the call that started it. */
function StepList({ run, isSubRun, waterfall }: { run: Run; isSubRun: boolean; waterfall: Waterfall }) {
  return (
    <ol className="steps">
      {itemsOf(run).map((item, index) => {
        const place = { run, isSubRun, waterfall, number: index + 1 };
        if (item.kind === "round") return <RoundView key={item.id} round={item} {...place} />;
        const subRun = waterfall.subRuns.get(item.id);
        return (
          <ActionView key={item.id} step={item.step} {...place}>
            {subRun && (
              <div className="sub-steps" role="group" aria-label={labels.run.linkTo(subRun.agent_id)}>
                <p className="quiet">{subRun.agent_id}</p>
                <StepList run={subRun} isSubRun waterfall={waterfall} />
              </div>
            )}
          </ActionView>
        );
      })}
    </ol>
  );
}
