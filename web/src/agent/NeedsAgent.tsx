import { labels } from "../labels";
import { Link, newAgentPath } from "../shell/router";

/** What an empty page says when an agent has to exist first. */
export function NeedsAgent({ text }: { text: string }) {
  return (
    <>
      {text} <Link to={newAgentPath}>{labels.agent.createFirst}</Link>
    </>
  );
}
