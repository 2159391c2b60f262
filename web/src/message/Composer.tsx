import { type KeyboardEvent, useState } from "react";
import type { AgentStatus } from "../api/types";
import { Icon } from "../ui/Icon";

/** The contract's bound: 256 KiB, counted in characters so that the browser can hold to it. */
const TEXT_CHARS_MAX = 262_144;

/** The box in which one writes to an agent. */
export function Composer({ agent, onSend }: { agent: AgentStatus; onSend: (text: string) => void }) {
  const [text, setText] = useState("");
  const send = () => {
    if (text.trim() === "") return;
    onSend(text.trim());
    setText("");
  };
  const press = (event: KeyboardEvent) => {
    // While an input method composes, Enter chooses a word and does not send.
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
        Message to {agent.agent_id}
      </label>
      <textarea
        id="message-box"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={press}
        rows={Math.min(8, Math.max(2, text.split("\n").length))}
        maxLength={TEXT_CHARS_MAX}
        placeholder={
          agent.control === "paused" ? "It is paused: what you write waits until it is resumed" : "What should it do?"
        }
        aria-describedby="composer-hint"
      />
      <button type="submit" className="button primary" disabled={text.trim() === ""}>
        <Icon name="send" /> Send
      </button>
      <small id="composer-hint" className="quiet">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> makes a new line
      </small>
    </form>
  );
}
