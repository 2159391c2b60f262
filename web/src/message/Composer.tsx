import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useRef } from "react";
import type { AgentStatus } from "../api/types";
import { labels } from "../labels";
import { Icon } from "../ui/Icon";
import { AttachmentList } from "./AttachmentList";
import type { Draft } from "./outbox";
import { StopButton } from "./StopButton";
import { textProblem, useDraft } from "./useDraft";
import { useMeasuredHeight } from "./useMeasuredHeight";

interface ComposerProps {
  agent: AgentStatus;
  /** The conversation that the message belongs to. */
  thread: string;
  /** Whether the open run belongs to this conversation: only then can a message join it. */
  isOpenHere: boolean;
  onSend: (draft: Draft) => void;
}

/** The form that sends a message to a conversation, with files, and that stops its run. */
export function Composer({ agent, thread, isOpenHere, onSend }: ComposerProps) {
  const draft = useDraft(`${agent.agent_id}/${thread}`);
  const picker = useRef<HTMLInputElement>(null);
  const form = useMeasuredHeight("--composer");
  const isWorking = agent.open_run !== undefined;
  const isEmpty = draft.text.trim() === "";

  const send = (priority?: "interject") => {
    if (isEmpty) return;
    const text = draft.text.trim();
    const problem = textProblem(text);
    if (problem) {
      draft.refuse(problem);
      return;
    }
    onSend({
      text,
      ...(draft.attachments.length > 0 && { attachments: draft.attachments }),
      ...(priority && { priority }),
    });
    draft.clear();
  };
  const press = (event: KeyboardEvent) => {
    // While an input method composes a word, Enter selects a candidate.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send(isOpenHere && (event.ctrlKey || event.metaKey) ? "interject" : undefined);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    const problem = textProblem(draft.text + event.clipboardData.getData("text/plain"));
    if (files.length === 0 && !problem) return;
    event.preventDefault();
    if (files.length > 0) void draft.add(files);
    else if (problem) draft.refuse(problem);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void draft.add([...event.dataTransfer.files]);
  };
  return (
    <form
      ref={form}
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={drop}
    >
      <label htmlFor="message-box" className="hidden">
        {labels.message.to(agent.agent_id)}
      </label>
      <textarea
        id="message-box"
        value={draft.text}
        onChange={(event) => draft.write(event.target.value)}
        onKeyDown={press}
        onPaste={paste}
        rows={Math.min(8, Math.max(2, draft.text.split("\n", 8).length))}
        placeholder={placeholder(agent)}
        aria-describedby="composer-hint"
      />
      <AttachmentList attachments={draft.attachments} onRemove={draft.remove} />
      {draft.problem && (
        <div className="composer-problem" role="alert">
          <p>{draft.problem.message}</p>
          {draft.problem.attachable !== undefined && (
            <button
              type="button"
              className="button small"
              onClick={() => void draft.attachText(draft.problem?.attachable ?? "")}
            >
              {labels.message.attachText}
            </button>
          )}
        </div>
      )}
      <div className="composer-actions">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={labels.message.attach}
          onChange={(event) => {
            void draft.add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <button
          type="button"
          className="icon-button"
          aria-label={labels.message.attach}
          title={labels.message.attachHint}
          onClick={() => picker.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <small id="composer-hint" className="quiet">
          <kbd>{labels.message.enterKey}</kbd> {isWorking ? labels.message.enterQueues : labels.message.enterSends}{" "}
          <kbd>{labels.message.shiftKey}</kbd> <kbd>{labels.message.enterKey}</kbd> {labels.message.enterBreaks}
        </small>
        {isOpenHere && agent.open_run && <StopButton agentId={agent.agent_id} runKey={agent.open_run} />}
        {isOpenHere && (
          <button
            type="button"
            className="button"
            title={labels.message.sendNowHint}
            disabled={isEmpty}
            onClick={() => send("interject")}
          >
            {labels.message.sendNow}
          </button>
        )}
        <button type="submit" className="button primary" disabled={isEmpty}>
          <Icon name="send" /> {isWorking ? labels.message.queue : labels.message.send}
        </button>
      </div>
    </form>
  );
}

function placeholder({ agent_id: agentId, control }: AgentStatus): string {
  return control === "paused" ? labels.message.placeholderPaused : labels.message.placeholder(agentId);
}
