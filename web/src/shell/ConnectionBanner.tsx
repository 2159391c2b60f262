import { useConnection } from "../live/connection";
import type { StreamState } from "../live/stream";

const MESSAGES: Partial<Record<StreamState, string>> = {
  unreachable: "Connection lost, trying again. What you see may be old; nothing is lost.",
  recovering: "Wakeful has just started and takes up what an earlier life left. One moment.",
  stopping: "Wakeful is stopping: it brings what is under way to a safe point.",
};

/** A slim line when the page is not live. It is there all the time, so that its words are announced when they come. */
export function ConnectionBanner() {
  const text = MESSAGES[useConnection()];
  return (
    <div className={`connection ${text ? "shown" : ""}`} role="status">
      {text}
    </div>
  );
}
