import { useState } from "react";
import type { Budget, Decision } from "../api/types";
import { parkedText } from "../budget/money";
import { ParkedActions } from "../budget/ParkedActions";
import { AnsweredElsewhere } from "../decision/AnsweredElsewhere";
import { DecisionCard } from "../decision/DecisionCard";
import { summaryBody } from "../event/payload";
import { QuarantineActions } from "../run/QuarantineActions";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { toSentence } from "../text/sentence";
import { Icon } from "../ui/Icon";
import { Time } from "../ui/Time";
import type { AttentionItem } from "./attention";

interface NeedsAttentionProps {
  items: readonly AttentionItem[];
  budget: Budget | undefined;
  onDismiss: (eventIds: readonly string[]) => void;
}

const PROMPT_CHARS_MAX = 70;

/** What waits for a person. The empty state is the one to be glad of, so it is drawn with as much care. */
export function NeedsAttention({ items, budget, onDismiss }: NeedsAttentionProps) {
  const [answeredElsewhere, setAnsweredElsewhere] = useState<readonly Decision[]>([]);
  const isEmpty = items.length + answeredElsewhere.length === 0;
  return (
    <section aria-labelledby="attention-heading" className={`panel attention ${isEmpty ? "empty-attention" : ""}`}>
      <header className="panel-head">
        <h2 id="attention-heading">Needs you</h2>
        {items.length > 0 && <span className="count">{items.length}</span>}
      </header>
      {isEmpty ? (
        <div className="attention-empty">
          <Icon name="dawn" />
          <p>
            Nothing needs you. Whatever asks you, gets stuck, fails, is denied, runs out of money or ends in doubt will
            stand here.
          </p>
        </div>
      ) : (
        <ul className="attention-list">
          {answeredElsewhere.map((one) => (
            <li key={`answered/${one.decision_id}`} className="attention-card">
              <Icon name="check" />
              <AnsweredElsewhere
                decision={one}
                onDismiss={() => setAnsweredElsewhere(answeredElsewhere.filter((other) => other !== one))}
              />
            </li>
          ))}
          {items.map((item) => (
            <AttentionItemView
              key={item.id}
              item={item}
              budget={budget}
              onDismiss={onDismiss}
              onAnsweredElsewhere={(stands) => setAnsweredElsewhere((before) => [...before, stands])}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface AttentionItemViewProps extends Omit<NeedsAttentionProps, "items"> {
  item: AttentionItem;
  onAnsweredElsewhere: (decision: Decision) => void;
}

function AttentionItemView({ item, budget, onDismiss, onAnsweredElsewhere }: AttentionItemViewProps) {
  if (item.kind === "decision") {
    return (
      <li className="attention-card">
        <Icon name="bell" />
        <DecisionCard decision={item.decision} onAnsweredElsewhere={onAnsweredElsewhere} />
      </li>
    );
  }
  if (item.kind === "quarantined") {
    const { agent_id: agentId, run_key: runKey, fault, preview } = item.run;
    return (
      <li className="attention-card">
        <Icon name="knot" />
        <div>
          <p className="attention-title">
            <Link to={agentPath(agentId)}>{agentId}</Link>
            {preview && ` · “${oneLine(preview, PROMPT_CHARS_MAX)}”`}
          </p>
          <p>
            <b>This run cannot go on and was set aside.</b> {fault && toSentence(fault)}
          </p>
          <QuarantineActions runKey={runKey} />
          <p className="attention-actions">
            <Link to={runPath(agentId, runKey)}>See the run</Link>
          </p>
        </div>
      </li>
    );
  }
  if (item.kind === "parked") {
    const { agentId, runKey, prompt, parked, message } = item;
    return (
      <li className="attention-card">
        <Icon name="coin" />
        <div>
          <p className="attention-title">
            <Link to={agentPath(agentId)}>{agentId}</Link>
            {prompt && ` · “${oneLine(prompt, PROMPT_CHARS_MAX)}”`}
          </p>
          <p>
            <b>It waits: the day&apos;s money is spent.</b> {parked ? parkedText(parked) : toSentence(message)}
          </p>
          <ParkedActions budget={budget} agentId={parked?.scope === "agent" ? agentId : undefined} />
          {runKey && (
            <p className="attention-actions">
              <Link to={runPath(agentId, runKey)}>See the run</Link>
            </p>
          )}
        </div>
      </li>
    );
  }
  if (item.kind === "stuck") {
    const { agent_id: agentId, message, hint } = item.stuck;
    return (
      <li className="attention-card">
        <Icon name="knot" />
        <div>
          <p className="attention-title">
            <Link to={agentPath(agentId)}>{agentId}</Link> is stuck
          </p>
          <p>{toSentence(message)}</p>
          <p className="quiet">{toSentence(hint)}</p>
        </div>
      </li>
    );
  }
  const { agentId, runKey, prompt, at, events, eventIds } = item;
  return (
    <li className="attention-card">
      <Icon name="alert" />
      <div>
        <p className="attention-title">
          <Link to={agentPath(agentId)}>{agentId}</Link>
          {prompt && ` · “${oneLine(prompt, PROMPT_CHARS_MAX)}”`}
        </p>
        {events.map((event) => (
          <p key={event.event_id}>
            <b>{event.presentation.title}.</b> {toSentence(summaryBody(event))}
          </p>
        ))}
        <p className="attention-actions">
          {runKey && (
            <Link to={runPath(agentId, runKey)} className="button small">
              See what happened
            </Link>
          )}
          <button type="button" className="button small" onClick={() => onDismiss(eventIds)}>
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
