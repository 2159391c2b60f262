import { labels } from "../labels";
import { useConnection } from "../live/connection";
import type { StreamState } from "../live/stream";

const MESSAGES: Partial<Record<StreamState, string>> = labels.connection;

/** Says that the page is not live. Always rendered, so that screen readers announce a new message. */
export function ConnectionBanner() {
  const text = MESSAGES[useConnection()];
  return (
    <div className={`connection ${text ? "shown" : ""}`} role="status">
      {text}
    </div>
  );
}
