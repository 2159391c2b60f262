import type { Decision } from "../api/types";
import { Glyph } from "../ui/Glyph";
import { endWords } from "./words";

/** A question that somebody else closed while it was on the screen: what they said stands. */
export function Forestalled({ decision, onSeen }: { decision: Decision; onSeen: () => void }) {
  return (
    <div role="status">
      <p className="need-title">
        {decision.agent_id} · {decision.title}
      </p>
      <p>
        <b>Your answer came too late.</b> {endWords(decision)}
      </p>
      <p className="need-acts">
        <button type="button" className="button small" onClick={onSeen}>
          <Glyph name="check" /> I have seen it
        </button>
      </p>
    </div>
  );
}
