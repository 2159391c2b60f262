import { type ReactNode, useId } from "react";
import { agentPath, Link, runPath } from "../shell/router";
import { oneLine } from "../text/number";
import { Icon, type IconName } from "./Icon";
import { Time } from "./Time";

const PROMPT_CHARS_MAX = 70;

interface AttentionCardProps {
  icon: IconName;
  agentId: string;
  /** The message that started the run. */
  prompt?: string;
  badges?: ReactNode;
  /** What happened, in one sentence. */
  headline: string;
  /** The heading level that the headline has on the page. */
  level?: 2 | 3;
  children?: ReactNode;
  /** Buttons, and what each of them does. */
  actions?: ReactNode;
  /** Links to the run, with this text. */
  runLink?: { runKey: string; text: string };
  at?: string;
}

/** One thing that a person has to act on: which agent and run it is about, what happened, and what to do next. */
export function AttentionCard(props: AttentionCardProps) {
  const { icon, agentId, prompt, badges, headline, level = 3, children, actions, runLink, at } = props;
  const titleId = useId();
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <article className="attention-card" aria-labelledby={titleId}>
      <Icon name={icon} />
      <div>
        <p className="attention-title">
          <Link to={agentPath(agentId)}>{agentId}</Link>
          {prompt && ` · “${oneLine(prompt, PROMPT_CHARS_MAX)}”`} {badges}
        </p>
        <Heading id={titleId}>{headline}</Heading>
        {children}
        {(actions || runLink || at) && (
          <div className="attention-actions">
            {actions}
            {runLink && <Link to={runPath(agentId, runLink.runKey)}>{runLink.text}</Link>}
            {at && (
              <span className="quiet">
                <Time at={at} />
              </span>
            )}
          </div>
        )}
      </div>
    </article>
  );
}
