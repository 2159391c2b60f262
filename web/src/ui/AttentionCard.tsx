import { type ReactNode, useId } from "react";
import { agentName } from "../agent/name";
import { labels } from "../labels";
import { agentPath, Link, runPath } from "../shell/router";
import { previewText } from "../text/preview";
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
  /** The run to link to; absent on the page of the run itself. */
  runKey?: string;
  at?: string;
}

/** One thing that a person has to act on: which agent and run it is about, what happened, and what to do next. */
export function AttentionCard(props: AttentionCardProps) {
  const { icon, agentId, prompt, badges, headline, level = 3, children, actions, runKey, at } = props;
  const titleId = useId();
  const Heading = level === 2 ? "h2" : "h3";
  return (
    <article className="attention-card" aria-labelledby={titleId}>
      <Icon name={icon} />
      <div>
        <p className="attention-title">
          <Link to={agentPath(agentId)}>{agentName(agentId)}</Link>
          {prompt && ` · ${labels.common.quote(previewText(prompt, PROMPT_CHARS_MAX))}`} {badges}
        </p>
        <Heading id={titleId}>{headline}</Heading>
        {children}
        {(actions || runKey || at) && (
          <div className="attention-actions">
            {actions}
            {runKey && <Link to={runPath(agentId, runKey)}>{labels.common.viewRun}</Link>}
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
