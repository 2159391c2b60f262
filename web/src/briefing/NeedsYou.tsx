import { useState } from "react";
import type { Budget, Decision } from "../api/types";
import { parkedWords } from "../budget/money";
import { ParkedWays } from "../budget/ParkedWays";
import { DecisionCard } from "../decision/DecisionCard";
import { Forestalled } from "../decision/Forestalled";
import { gist } from "../event/payload";
import { AsideWays } from "../run/AsideWays";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { sentence } from "../text/sentence";
import { Glyph } from "../ui/Glyph";
import { Time } from "../ui/Time";
import type { Need } from "./needs";

interface NeedsYouProps {
  needs: readonly Need[];
  budget: Budget | undefined;
  onHandled: (eventIds: readonly string[]) => void;
}

const PROMPT_CHARS_MAX = 70;

/** What waits for a person. The empty state is the one to be glad of, so it is drawn with as much care. */
export function NeedsYou({ needs, budget, onHandled }: NeedsYouProps) {
  const [forestalled, setForestalled] = useState<readonly Decision[]>([]);
  const isCalm = needs.length + forestalled.length === 0;
  return (
    <section aria-labelledby="needs-title" className={`panel needs ${isCalm ? "calm" : ""}`}>
      <header className="panel-head">
        <h2 id="needs-title">Needs you</h2>
        {needs.length > 0 && <span className="count">{needs.length}</span>}
      </header>
      {isCalm ? (
        <div className="calm-words">
          <Glyph name="dawn" />
          <p>
            Nothing needs you. Whatever asks you, gets stuck, fails, is denied, runs out of money or ends in doubt will
            stand here.
          </p>
        </div>
      ) : (
        <ul className="need-list">
          {forestalled.map((one) => (
            <li key={`forestalled/${one.decision_id}`} className="need">
              <Glyph name="check" />
              <Forestalled decision={one} onSeen={() => setForestalled(forestalled.filter((other) => other !== one))} />
            </li>
          ))}
          {needs.map((need) => (
            <NeedView
              key={need.id}
              need={need}
              budget={budget}
              onHandled={onHandled}
              onForestalled={(stands) => setForestalled((before) => [...before, stands])}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface NeedViewProps extends Omit<NeedsYouProps, "needs"> {
  need: Need;
  onForestalled: (decision: Decision) => void;
}

function NeedView({ need, budget, onHandled, onForestalled }: NeedViewProps) {
  if (need.kind === "decision") {
    return (
      <li className="need">
        <Glyph name="bell" />
        <DecisionCard decision={need.decision} onForestalled={onForestalled} />
      </li>
    );
  }
  if (need.kind === "aside") {
    const { agent_id: agentId, run_key: runKey, fault, preview } = need.run;
    return (
      <li className="need">
        <Glyph name="knot" />
        <div>
          <p className="need-title">
            <Link to={agentPath(agentId)}>{agentId}</Link>
            {preview && ` · “${oneLine(preview, PROMPT_CHARS_MAX)}”`}
          </p>
          <p>
            <b>This run cannot go on and was set aside.</b> {fault && sentence(fault)}
          </p>
          <AsideWays runKey={runKey} />
          <p className="need-acts">
            <Link to={runPath(agentId, runKey)}>See the run</Link>
          </p>
        </div>
      </li>
    );
  }
  if (need.kind === "parked") {
    const { agentId, runKey, prompt, parked, words } = need;
    return (
      <li className="need">
        <Glyph name="coin" />
        <div>
          <p className="need-title">
            <Link to={agentPath(agentId)}>{agentId}</Link>
            {prompt && ` · “${oneLine(prompt, PROMPT_CHARS_MAX)}”`}
          </p>
          <p>
            <b>It waits: the day&apos;s money is spent.</b> {parked ? parkedWords(parked) : sentence(words)}
          </p>
          <ParkedWays budget={budget} agentId={parked?.scope === "agent" ? agentId : undefined} />
          {runKey && (
            <p className="need-acts">
              <Link to={runPath(agentId, runKey)}>See the run</Link>
            </p>
          )}
        </div>
      </li>
    );
  }
  if (need.kind === "stuck") {
    const { agent_id: agentId, message, hint } = need.stuck;
    return (
      <li className="need">
        <Glyph name="knot" />
        <div>
          <p className="need-title">
            <Link to={agentPath(agentId)}>{agentId}</Link> is stuck
          </p>
          <p>{sentence(message)}</p>
          <p className="quiet">{sentence(hint)}</p>
        </div>
      </li>
    );
  }
  const { agentId, runKey, prompt, at, events, keys } = need;
  return (
    <li className="need">
      <Glyph name="alert" />
      <div>
        <p className="need-title">
          <Link to={agentPath(agentId)}>{agentId}</Link>
          {prompt && ` · “${oneLine(prompt, PROMPT_CHARS_MAX)}”`}
        </p>
        {events.map((event) => (
          <p key={event.event_id}>
            <b>{event.presentation.title}.</b> {sentence(gist(event))}
          </p>
        ))}
        <p className="need-acts">
          {runKey && (
            <Link to={runPath(agentId, runKey)} className="button small">
              See what happened
            </Link>
          )}
          <button type="button" className="button small" onClick={() => onHandled(keys)}>
            Done with this
          </button>
          <span className="quiet">
            <Time at={at} />
          </span>
        </p>
      </div>
    </li>
  );
}
