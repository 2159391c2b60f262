import { labels } from "../labels";
import { StopButton } from "../message/StopButton";
import { Link, runPath, threadPath } from "../shell/router";
import { Icon } from "../ui/Icon";

interface OpenElsewhereProps {
  agentId: string;
  runKey: string;
  /** The conversation of the run; none when no person started it. */
  thread: string | undefined;
}

/** Says that the open run of an agent does not belong to the conversation that is shown, and links to it. */
export function OpenElsewhere({ agentId, runKey, thread }: OpenElsewhereProps) {
  return (
    <div className="open-elsewhere">
      <p role="status">
        <Icon name="queue" />{" "}
        {thread === undefined ? labels.thread.runElsewhere(agentId) : labels.thread.openElsewhere(agentId)}
      </p>
      {thread === undefined ? (
        <Link to={runPath(agentId, runKey)} className="button small">
          {labels.common.viewRun}
        </Link>
      ) : (
        <Link to={threadPath(agentId, thread)} className="button small">
          {labels.thread.show}
        </Link>
      )}
      <StopButton agentId={agentId} runKey={runKey} />
    </div>
  );
}
