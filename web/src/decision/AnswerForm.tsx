import { useState } from "react";
import type { Decision } from "../api/types";
import { labels } from "../labels";
import { InlineText } from "../ui/InlineText";
import { DecisionOptions } from "./DecisionOptions";
import { answerElsewhereText } from "./text";

/** The server's limit. */
const NOTE_CHARS_MAX = 2_000;

export interface AnswerChoice {
  option: string;
  note: string;
}

interface AnswerFormProps {
  decision: Decision;
  isSending: boolean;
  /** Whether the whole input is on the screen; without it nothing can be approved. */
  isInputShown: boolean;
  onAnswer: (choice: AnswerChoice) => void;
}

/** The answers as buttons, with an optional note. */
export function AnswerForm({ decision, isSending, isInputShown, onAnswer }: AnswerFormProps) {
  const [note, setNote] = useState("");
  const elsewhere = answerElsewhereText(decision);
  return (
    <>
      <label className="decision-note">
        <span>{labels.decision.note}</span>
        <input
          value={note}
          onChange={(event) => setNote(event.target.value)}
          maxLength={NOTE_CHARS_MAX}
          autoComplete="off"
          placeholder={labels.decision.noteExample}
        />
      </label>
      {elsewhere && (
        <p role="note">
          <InlineText text={elsewhere} />
        </p>
      )}
      <DecisionOptions
        // A changed decision is another question: its options are armed anew.
        key={decision.version}
        decision={decision}
        isDisabled={isSending || elsewhere !== undefined}
        isInputShown={isInputShown}
        onAnswer={(option) => onAnswer({ option, note: note.trim() })}
      />
    </>
  );
}
