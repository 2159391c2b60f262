import { type KeyboardEvent, useState } from "react";
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";

/** The limit of the API contract, 256 KiB, in characters: the browser enforces it by characters. */
const TEXT_CHARS_MAX = 262_144;

/** The form that sends a message to an agent. */
export function Composer({ agent, onSend }: { agent: AgentStatus; onSend: (text: string) => void }) {
  const [text, setText] = useState("");
  const send = () => {
    if (text.trim() === "") return;
    onSend(text.trim());
    setText("");
  };
  const press = (event: KeyboardEvent) => {
    // While an input method composes a word, Enter selects a candidate.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label htmlFor="message-box" className="hidden">
        {labels.message.to(agent.agent_id)}
      </label>
      <textarea
        id="message-box"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={press}
        rows={Math.min(8, Math.max(2, text.split("\n").length))}
        maxLength={TEXT_CHARS_MAX}
        placeholder={
          agent.control === "paused" ? labels.message.placeholderPaused : labels.message.placeholder(agent.agent_id)
        }
        aria-describedby="composer-hint"
      />
      <button type="submit" className="button primary" disabled={text.trim() === ""}>
        <Icon name="send" /> {labels.message.send}
      </button>
      <small id="composer-hint" className="quiet">
        <kbd>{labels.message.enterKey}</kbd> {labels.message.enterSends} <kbd>{labels.message.shiftKey}</kbd>{" "}
        <kbd>{labels.message.enterKey}</kbd> {labels.message.enterBreaks}
      </small>
    </form>
  );
}
