import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { InlineText } from "../ui/InlineText";
import type { Outgoing } from "./outbox";
import type { OutboxHandle } from "./useOutbox";

/** A message that is not in the transcript or the queue of the server yet. */
export function OutgoingView({ message, outbox }: { message: Outgoing; outbox: OutboxHandle }) {
  return (
    <li className={`turn user outgoing ${message.state}`}>
      <p className="turn-author">{labels.common.you}</p>
      <div className="bubble">{message.text}</div>
      {message.state === "failed" ? (
        <div className="outgoing-problem" role="alert">
          <p>
            <b>{labels.message.notSent}</b> {toSentence(message.problem?.message ?? "")}{" "}
            <InlineText text={toSentence(message.problem?.hint ?? "")} />
          </p>
          <p className="attention-actions">
            <button type="button" className="button small" onClick={() => outbox.retry(message)}>
              {labels.message.sendAgain}
            </button>
            <button type="button" className="button small" onClick={() => outbox.discard(message.key)}>
              {labels.message.discard}
            </button>
          </p>
        </div>
      ) : (
        <p className="turn-foot">{message.state === "sending" ? labels.message.sending : labels.message.accepted}</p>
      )}
    </li>
  );
}
