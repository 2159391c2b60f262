import type { Outgoing } from "./outbox";
import type { OutboxHandle } from "./useOutbox";

/** A message that the server does not show yet. */
export function OutgoingView({ message, outbox }: { message: Outgoing; outbox: OutboxHandle }) {
  return (
    <li className={`turn user outgoing ${message.state}`}>
      <p className="turn-author">You</p>
      <div className="bubble">{message.text}</div>
      {message.state === "failed" ? (
        <div className="outgoing-problem" role="alert">
          <p>
            <b>Not sent.</b> {message.problem?.message} {message.problem?.hint}
          </p>
          <p className="attention-actions">
            <button type="button" className="button small" onClick={() => outbox.retry(message)}>
              Send again
            </button>
            <button type="button" className="button small" onClick={() => outbox.discard(message.key)}>
              Discard
            </button>
          </p>
        </div>
      ) : (
        <p className="turn-foot">{message.state === "sending" ? "Sending…" : "Taken in; it is kept now."}</p>
      )}
    </li>
  );
}
