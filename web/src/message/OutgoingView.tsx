import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { InlineText } from "../ui/InlineText";
import { ModelText } from "../ui/ModelText";
import { AttachmentList } from "./AttachmentList";
import type { Outgoing } from "./outbox";
import type { OutboxHandle } from "./useOutbox";

/** A message that is not in the transcript or the queue of the server yet. */
export function OutgoingView({ message, outbox }: { message: Outgoing; outbox: OutboxHandle }) {
  const { state, problem } = message;
  const isWaiting = state === "waiting";
  return (
    <li className={`turn user outgoing ${state}`}>
      <p className="turn-author">{labels.common.you}</p>
      <div className="bubble">
        <ModelText text={message.text} />
        <AttachmentList attachments={message.attachments ?? []} />
      </div>
      {isWaiting || state === "failed" ? (
        <div className="outgoing-problem" role="alert">
          <p>
            <b>{isWaiting ? labels.message.notSentYet : labels.message.notSent}</b> {toSentence(problem?.message ?? "")}{" "}
            {isWaiting ? labels.message.notSentYetHint : <InlineText text={toSentence(problem?.hint ?? "")} />}
          </p>
          <p className="attention-actions">
            {!message.isIncomplete && (
              <button type="button" className="button small" onClick={() => outbox.retry(message)}>
                {labels.message.sendAgain}
              </button>
            )}
            <button type="button" className="button small" onClick={() => outbox.discard(message.key)}>
              {labels.message.discard}
            </button>
          </p>
        </div>
      ) : (
        <p className="turn-foot">{state === "sending" ? labels.message.sending : labels.message.accepted}</p>
      )}
    </li>
  );
}
