import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { NeedsAgent } from "../agent/NeedsAgent";
import { agentsQuery, schedulesQuery } from "../api/queries";
import type { Schedule } from "../api/types";
import { useFeed } from "../briefing/feed";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";
import { Listing } from "../ui/Listing";
import { ScheduleForm } from "./ScheduleForm";
import { ScheduleRow } from "./ScheduleRow";

/** Each row asks for its newest firings, so not all are shown at once. */
const SHOWN_MAX = 30;

/** All schedules, with everything that can be done to each. */
export default function SchedulesPage() {
  useFeed();
  const list = useQuery(schedulesQuery);
  const agents = useQuery(agentsQuery);
  const [isAdding, setAdding] = useState(false);
  const [shown, setShown] = useState(SHOWN_MAX);
  const [isAll, setAll] = useState(false);
  const [saved, setSaved] = useState<Schedule>();
  const schedules = list.data?.schedules.filter((one) => isAll || isLive(one));
  const ended = list.data?.schedules.filter((one) => !isLive(one)) ?? [];
  const hasAgents = agents.data !== undefined && agents.data.length > 0;
  return (
    <>
      <div className="toolbar">
        <button type="button" className="button primary" onClick={() => setAdding(true)} disabled={!hasAgents}>
          <Icon name="plus" /> {labels.schedule.add}
        </button>
      </div>
      {saved && <SavedNotice saved={saved} />}
      {list.data?.unreadable?.map((one) => (
        <p className="notice" key={one.schedule_id}>
          <Icon name="alert" /> {labels.schedule.unreadable(one.schedule_id, one.column)}
        </p>
      ))}
      <Listing
        list={{ ...list, data: schedules }}
        action={labels.schedule.listAction}
        loading={labels.schedule.loading}
        icon="sun"
        none={labels.schedule.none}
        noneHint={
          agents.data?.length === 0 ? <NeedsAgent text={labels.schedule.needsAgent} /> : labels.schedule.noneHint
        }
      >
        {(entries) => (
          <ul className="entries">
            {entries.slice(0, shown).map((one) => (
              <ScheduleRow key={one.schedule_id} schedule={one} agents={agents.data ?? []} onSaved={setSaved} />
            ))}
          </ul>
        )}
      </Listing>
      {schedules && schedules.length > shown && (
        <button type="button" className="button" onClick={() => setShown(shown + SHOWN_MAX)}>
          {labels.schedule.moreSchedules(schedules.length - shown)}
        </button>
      )}
      {!isAll && ended.length > 0 && (
        <button type="button" className="button" onClick={() => setAll(true)}>
          {labels.schedule.ended(ended.length)}
        </button>
      )}
      {isAdding && (
        <ScheduleForm
          agents={agents.data ?? []}
          onClose={() => setAdding(false)}
          onSaved={(schedule) => {
            setAdding(false);
            setSaved(schedule);
          }}
        />
      )}
    </>
  );
}

function isLive({ status }: Schedule): boolean {
  return status === "active" || status === "paused";
}

/** That a schedule was saved, and what to know about it. */
function SavedNotice({ saved }: { saved: Schedule }) {
  const { note } = saved;
  return (
    <p className="notice" role="status">
      <Icon name={note ? "alert" : "check"} />
      <span>
        {labels.schedule.saved(saved.schedule_id)} {note && <InlineText text={toSentence(note)} />}
      </span>
    </p>
  );
}
